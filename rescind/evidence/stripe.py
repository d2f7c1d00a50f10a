"""What the Stripe client's errors prove: Stripe's answer by its status, the rest by where the connection failed.

Sources: Stripe's API reference, "Errors" (statuses) and "Idempotent requests" (a key under which a request still
runs is answered 409; one that was used with other parameters 400, and nothing is done); and for the connection,
its `HTTPXClient`, which keeps httpx's error as the cause.
"""

import stripe

from rescind.evidence._core import Evidence
from rescind.evidence._status import proves_status
from rescind.evidence.http import proves as http_proves


def proves(error: BaseException) -> Evidence | None:
    """What an error of the Stripe client proves about the one request that it answers; None is nothing."""
    if not isinstance(error, stripe.StripeError):
        return None
    if error.http_status is not None:
        headers = {str(name).lower(): str(value) for name, value in (error.headers or {}).items()}
        return proves_status(error.http_status, headers)
    return http_proves(error.__cause__) if error.__cause__ is not None else None
