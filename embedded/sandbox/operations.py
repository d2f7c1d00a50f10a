"""The names of what can be called, by which faults are planned and calls are logged."""

import re

_HTTP = {
    "crm.create": ("POST", r"/crm/orders"),
    "crm.list": ("GET", r"/crm/orders"),
    "crm.get": ("GET", r"/crm/orders/[^/]+"),
    "crm.change": ("PATCH", r"/crm/orders/[^/]+"),
    **{
        f"{system}.{verb}": (method, f"/{system}/bookings{rest}")
        for system in ("flights", "hotels")
        for verb, method, rest in (
            ("book", "POST", ""),
            ("list", "GET", ""),
            ("find", "GET", r"/by-key/[^/]+"),
            ("cancel_key", "DELETE", r"/by-key/[^/]+"),
            ("get", "GET", r"/[^/]+"),
            ("cancel", "DELETE", r"/[^/]+"),
        )
    },
    "blind.book": ("POST", r"/hotels/blind/bookings"),
    "blind.cancel": ("DELETE", r"/hotels/blind/bookings/[^/]+"),
    "chat.post": ("POST", r"/hook/[^/]+"),
    "webhook.post": ("POST", r"/webhooks/[^/]+"),
    "webhook.list": ("GET", r"/webhooks/events"),
    "sms.send": ("POST", r"/sms/messages"),
    "sms.list": ("GET", r"/sms/messages"),
    "payments.transfer": ("POST", r"/payments/transfers"),
    "payments.list": ("GET", r"/payments/transfers"),
    "payments.funds": ("GET", r"/payments/accounts/[^/]+/funds"),
    "payments.find": ("GET", r"/payments/transfers/by-key/[^/]+"),
}
STRIPE = {
    "stripe.create_customer": ("POST", r"/v1/customers"),
    "stripe.list_customers": ("GET", r"/v1/customers"),
    "stripe.get_customer": ("GET", r"/v1/customers/[^/]+"),
    "stripe.create_item": ("POST", r"/v1/invoiceitems"),
    "stripe.list_items": ("GET", r"/v1/invoiceitems"),
    "stripe.create_invoice": ("POST", r"/v1/invoices"),
    "stripe.list_invoices": ("GET", r"/v1/invoices"),
    "stripe.get_invoice": ("GET", r"/v1/invoices/[^/]+"),
    "stripe.delete_invoice": ("DELETE", r"/v1/invoices/[^/]+"),
    "stripe.finalize_invoice": ("POST", r"/v1/invoices/[^/]+/finalize"),
    "stripe.pay_invoice": ("POST", r"/v1/invoices/[^/]+/pay"),
    "stripe.void_invoice": ("POST", r"/v1/invoices/[^/]+/void"),
    "stripe.create_credit_note": ("POST", r"/v1/credit_notes"),
    "stripe.list_credit_notes": ("GET", r"/v1/credit_notes"),
    "stripe.get_credit_note": ("GET", r"/v1/credit_notes/[^/]+"),
}
OTHERS = {"aws.get", "aws.put", "aws.delete", "aws.ask", "engine.create", "engine.remove"}
"""Known only where a test puts the gate in front of AWS or of a Docker engine too."""

MAIL = {"mail.from", "mail.rcpt", "mail.data", "mail.end"}
"""MAIL FROM; RCPT TO; DATA; and the final dot, before or after which the mail was kept."""

OPERATIONS = _HTTP.keys() | STRIPE.keys() | MAIL | OTHERS | {"stripe.other"}
SYSTEMS = frozenset(name.partition(".")[0] for name in OPERATIONS)


def sandbox_operation(method: str, path: str) -> str | None:
    """The operation of the sandbox's own providers that this request stands for."""
    return _named(_HTTP, method, path)


def stripe_operation(method: str, path: str) -> str | None:
    """The operation of the Stripe stand-in that this request stands for."""
    return _named(STRIPE, method, path) or ("stripe.other" if path.startswith("/v1/") else None)


def _named(operations: dict[str, tuple[str, str]], method: str, path: str) -> str | None:
    verb = "GET" if method == "HEAD" else method
    found = (name for name, (its, form) in operations.items() if its == verb and re.fullmatch(form, path))
    return next(found, None)
