"""What a step of each tool asks for, gives, shows in the world, and where its call and its undo can go wrong."""

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.plan_model import requests
from tests.plan_model.requests import Arguments, Asked


@dataclass(frozen=True)
class Met:
    """Where calls meet their faults.

    Attributes:
        provider: `sandbox`, or the name of a proxy.
        operation: The sandbox's operation, or a regular expression for the proxy; `{t}` stands for the try's token.
        mark: The text by which the sandbox knows the call; `{key}` is the call's key and `{undo}` its undo's.
    """

    provider: str
    operation: str
    mark: str = "{t}"


@dataclass(frozen=True)
class Kind:
    """One tool as plans use it.

    Attributes:
        tool: Its name.
        arguments: Its request.
        shows: What the world shows of one success: a sign (`+` came, `-` went, `~` changed) and a part of the world.
        over: The same where something was there already; None where nothing can be.
        gives: Fields of its result that can stand in a text; a name that ends in `?` may be null.
        takes: Arguments that may come from an earlier step's result, as `tool.field`.
        text: The argument whose text, or its hash, is to be seen in the world.
        do: Where the call meets faults.
        undo: Where the undo does.
        is_final: Whether it can't be undone.
    """

    tool: str
    arguments: Callable[[Asked], Arguments]
    shows: tuple[str, ...] = ()
    over: tuple[str, ...] | None = None
    gives: tuple[str, ...] = ()
    takes: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    text: str = ""
    do: Met | None = None
    undo: Met | None = None
    is_final: bool = False


_BOOKING = ("booking", "price", "currency")

KINDS: dict[str, Kind] = {
    each.tool: each
    for each in (
        Kind(
            "git.create_branch",
            requests.create_branch,
            ("+git", "+git", "+git"),  # the branch, its marker, and what that stands for
            gives=("branch", "commit"),
            do=Met("git", "create"),
            undo=Met("git", "delete"),
        ),
        Kind(
            "s3.create_bucket",
            lambda asked: {"bucket": asked.token if asked.sound else f"in-{asked.token}"},
            ("+buckets",),
            gives=("bucket", "region"),
            do=Met("s3", r"^PUT /{t}/?(\?tagging)?$"),
            undo=Met("s3", r"^DELETE /{t}/?$"),
        ),
        Kind(
            "s3.put_object",
            requests.put_object,
            ("+buckets",),
            ("~buckets",),
            gives=("key", "etag", "version_id?"),
            takes={"bucket": ("s3.create_bucket.bucket",)},
            text="body",
            do=Met("s3", r"^PUT /[^/]+/{t}(\?|$)"),
            undo=Met("s3", r"^DELETE /[^/]+/{t}(\?|$)"),
        ),
        Kind(
            "postgres.rename_table",
            requests.rename_table,
            ("-databases", "+databases"),
            gives=("oid", "definition"),
            do=Met("postgres", r'rename\s+to\s+"new {t}"'),
            undo=Met("postgres", r'rename\s+to\s+"old {t}"'),
        ),
        Kind(
            "postgres.add_column",
            requests.add_column,
            ("~databases",),
            gives=("number", "definition"),
            do=Met("postgres", r'add\s+column\s+"{t}"'),
            undo=Met("postgres", r'drop\s+column\s+"{t}"'),
        ),
        Kind(
            "postgres.migrate",
            requests.migrate,
            ("+databases",),
            gives=("name",),
            do=Met("postgres", r'create\s+table\s+"{t}"'),
            undo=Met("postgres", r'drop\s+table\s+"{t}"'),
        ),
        Kind(
            "container.deploy",
            requests.deploy_container,
            ("+containers",),
            gives=("id", "name", "previous?"),
            do=Met("docker", r"^POST \S*/containers/create\?(.*&)?name={t}-"),
        ),
        Kind(
            "ecs.deploy",
            requests.deploy_service,
            ("+clusters", "+task_definitions"),
            ("~clusters", "+task_definitions"),
            gives=("service", "task_definition", "previous?"),
            do=Met("ecs", r'\.(RegisterTaskDefinition|CreateService) .*"{t}"'),
            undo=Met("ecs", r"\.(DeregisterTaskDefinition|DeleteService) .*{t}"),
        ),
        Kind(
            "chat.notify",
            lambda asked: {"webhook": requests.alias(asked), "text": asked.text},
            ("+messages",),
            gives=("webhook",),
            text="text",
            do=Met("sandbox", "chat.post"),
            is_final=True,
        ),
        Kind(
            "crm.set_status",
            lambda asked: {
                "order": asked.token if asked.sound else f"no-{asked.token}",
                "status": "confirmed",
            },
            ("~orders",),
            gives=("order", "status", "was"),
            do=Met("sandbox", "crm.change", "{key}"),
            undo=Met("sandbox", "crm.change", '{t}\n{"status":"pending"'),
        ),
        Kind(
            "billing.create_invoice",
            requests.create_invoice,
            ("+invoices",),
            gives=("invoice", "number?", "status"),
            takes={"amount": ("flights.book.price", "hotels.book.price", "payments.transfer.amount")},
            do=Met("sandbox", "stripe.create_invoice"),
            undo=Met("sandbox", "stripe.void_invoice", ""),
        ),
        Kind(
            "email.send",
            requests.send_mail,
            ("+mails",),
            gives=("message_id", "to"),
            text="text",
            do=Met("sandbox", "mail.end", "{key}"),
            undo=Met("sandbox", "mail.end", "{undo}"),
        ),
        Kind(
            "flights.book",
            requests.book_flight,
            ("+bookings",),
            gives=("flight", *_BOOKING),
            do=Met("sandbox", "flights.book"),
            undo=Met("sandbox", "flights.cancel_key", "{key}"),
        ),
        Kind(
            "hotels.book",
            requests.book_room,
            ("+bookings",),
            gives=("hotel", *_BOOKING),
            do=Met("sandbox", "hotels.book"),
            undo=Met("sandbox", "hotels.cancel_key", "{key}"),
        ),
        Kind(
            "hotels.book_blind",
            requests.book_room,
            ("+bookings",),
            gives=("hotel", *_BOOKING),
            do=Met("sandbox", "blind.book"),
            undo=Met("sandbox", "blind.cancel", ""),
        ),
        Kind(
            "vm.launch",
            requests.launch_machine,
            ("+machines",),
            gives=("instance", "address?"),
            do=Met("ec2", r"Action=RunInstances\b.*{t}"),
            undo=Met("ec2", r"Action=TerminateInstances\b"),
        ),
        Kind(
            "files.write",
            requests.write_file,
            ("+files",),
            ("~files",),
            gives=("path", "sha256"),
            text="text",
        ),
        Kind(
            "webhook.post",
            lambda asked: {
                "webhook": requests.alias(asked),
                "event": "plan.done",
                "data": {"text": asked.text},
            },
            ("+sent",),
            gives=("webhook", "status"),
            do=Met("sandbox", "webhook.post"),
            is_final=True,
        ),
        Kind(
            "sms.send",
            lambda asked: {"to": "+491700000001", "text": asked.text},
            ("+sent",),
            gives=("message", "to"),
            text="text",
            do=Met("sandbox", "sms.send"),
            is_final=True,
        ),
        Kind(
            "payments.transfer",
            requests.transfer_money,
            ("+sent",),
            gives=("transfer", "amount", "currency"),
            text="purpose",
            do=Met("sandbox", "payments.transfer"),
            is_final=True,
        ),
        Kind(
            "crm.find",
            lambda asked: {"order": asked.token if asked.sound else f"no-{asked.token}"},
            gives=("order", "status", "customer", "email", "total", "currency"),
            takes={"order": ("crm.set_status.order",)},
            do=Met("sandbox", "crm.get"),
        ),
        Kind(
            "git.find_branch",
            lambda asked: {"remote": asked.token, "branch": "main" if asked.sound else "nowhere"},
            gives=("branch", "commit"),
        ),
        Kind(
            "s3.find_bucket",
            lambda asked: {"bucket": f"in-{asked.token}" if asked.sound else f"no-{asked.token}"},
            gives=("bucket", "region"),
            takes={"bucket": ("s3.create_bucket.bucket",)},
        ),
    )
}
