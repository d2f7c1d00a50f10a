"""What goes wrong in the storm: a seeded share of the providers' calls."""

from embedded.sandbox.faults import Fault
from tests.activities.sandbox_world import Sandbox

SHARE = 0.3
"""Of the providers' calls; a mail is one call that is hit at one of three commands."""

SEED = 20261130
HTTP: list[Fault] = [fault for fault in Fault if fault is not Fault.STALE]
MAIL_EARLY: list[Fault] = [Fault.REFUSE, Fault.UNAVAILABLE, Fault.THROTTLED, Fault.DROP_BEFORE, Fault.HANG]
MAIL_END: list[Fault] = [
    Fault.UNAVAILABLE,
    Fault.DROP_BEFORE,
    Fault.ERROR_AFTER,
    Fault.DROP_AFTER,
    Fault.HANG_AFTER,
]
_MAIL_SHARE = 1 - (1 - SHARE) ** (1 / 3)
PLANS: dict[str, tuple[float, list[Fault]]] = {
    "crm": (SHARE, HTTP),
    "stripe": (SHARE, HTTP),
    "mail.from": (_MAIL_SHARE, MAIL_EARLY),
    "mail.rcpt": (_MAIL_SHARE, MAIL_EARLY),
    "mail.end": (_MAIL_SHARE, MAIL_END),
}


async def break_out(sandbox: Sandbox) -> None:
    """From now on the providers misbehave, until `behave`."""
    for operation, (share, among) in PLANS.items():
        faults = [fault.value for fault in among]
        await sandbox.misbehave(
            operation, faults[0], among=faults, chance=share, seed=SEED, calls=None, seconds=1
        )
