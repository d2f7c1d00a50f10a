"""The cells: one step of one tool, a fault on its call, a fault on its undo, and the requests that meet them."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from embedded.sandbox.faults import Fault


class Business(StrEnum):
    """A tool of the business agents, by its name."""

    CRM = "crm.set_status"
    INVOICE = "billing.create_invoice"
    EMAIL = "email.send"
    FLIGHT = "flights.book"
    ROOM = "hotels.book"
    BLIND = "hotels.book_blind"


class Side(StrEnum):
    """What the fault meets."""

    CALL = "call"
    UNDO = "undo"


@dataclass(frozen=True)
class Trouble:
    """A fault, and where it is met.

    Attributes:
        fault: The fault; None is none.
        at: The mail command for `email.send`: `from`, `rcpt`, `data` or `end` (the final dot). Empty elsewhere.
        lasting: It is met by every such request until the step has ended, not by the first alone.
    """

    fault: Fault | None = None
    at: str = ""
    lasting: bool = False

    @property
    def words(self) -> str:
        """The trouble as a row of the table has it."""
        fault = self.fault.value.replace("_", " ") if self.fault else "nothing"
        return f"{fault}{f' at {MAIL_WORDS[self.at]}' if self.at else ''}{', every time' if self.lasting else ''}"

    @property
    def word(self) -> str:
        """The same as a part of a name."""
        fault = self.fault.value.replace("_", "") if self.fault else "none"
        return f"{fault}{self.at}{'all' if self.lasting else ''}"


MAIL_WORDS = {"from": "MAIL", "rcpt": "RCPT", "data": "DATA", "end": "the final dot"}
NOTHING = Trouble()
ONE_AT_A_TIME = ("from",)
"""Commands that say nothing of the mail, so that only one mail may be on its way when they are to fail."""

LASTING_IN_SHORT = (Fault.UNAVAILABLE, Fault.DROP_AFTER, Fault.HANG, Fault.LATE)
"""In the ordinary run these are met every time, since each such call waits out all of its tries."""

OPERATIONS: dict[tuple[Business, Side], str] = {
    (Business.CRM, Side.CALL): "crm.change",
    (Business.CRM, Side.UNDO): "crm.change",
    (Business.INVOICE, Side.CALL): "stripe.create_invoice",
    (Business.INVOICE, Side.UNDO): "stripe.void_invoice",
    (Business.FLIGHT, Side.CALL): "flights.book",
    (Business.FLIGHT, Side.UNDO): "flights.cancel_key",
    (Business.ROOM, Side.CALL): "hotels.book",
    (Business.ROOM, Side.UNDO): "hotels.cancel_key",
    (Business.BLIND, Side.CALL): "blind.book",
    (Business.BLIND, Side.UNDO): "blind.cancel",
}
READS: dict[tuple[Business, Side], str] = {
    (Business.CRM, Side.CALL): "crm.get",
    (Business.CRM, Side.UNDO): "crm.get",
    (Business.INVOICE, Side.UNDO): "stripe.get_invoice",
    (Business.FLIGHT, Side.UNDO): "flights.find",
    (Business.ROOM, Side.UNDO): "hotels.find",
}
"""Reads that a side makes before it writes, which may be stale."""


@dataclass(frozen=True)
class Cell:
    """One saga of one step, which is taken back."""

    tool: Business
    call: Trouble
    undo: Trouble
    run: str = "b"

    @property
    def name(self) -> str:
        """The name of the order, of the guest and of the mail address, and of the workflow."""
        tool = self.tool.value.replace(".", "-").replace("_", "-")
        return f"{self.run}-{tool}-{self.call.word}-{self.undo.word}"

    @property
    def title(self) -> str:
        """The cell in words."""
        return f"{self.tool.value}: the call meets {self.call.words}, the undo meets {self.undo.words}"

    @property
    def alone(self) -> bool:
        """Whether no other mail may be on its way meanwhile."""
        return bool({self.call.at, self.undo.at} & set(ONE_AT_A_TIME))

    def trouble(self, side: Side) -> Trouble:
        """What this side meets."""
        return self.call if side is Side.CALL else self.undo

    def operation(self, side: Side) -> str:
        """The operation that meets it."""
        trouble = self.trouble(side)
        if self.tool is Business.EMAIL:
            return f"mail.{trouble.at}"
        return (READS if trouble.fault is Fault.STALE else OPERATIONS)[self.tool, side]


def ordinary(run: str = "b") -> list[Cell]:
    """Pairwise: every fault on each side of every tool, and every fault that lasts until the call is given up."""
    return list(dict.fromkeys(cell for tool in Business for cell in _pairs(tool, run)))


def soak(run: str = "b") -> list[Cell]:
    """All with all, and undos that fail until their budget is used up."""
    cells = [
        Cell(tool, call, undo, run)
        for tool in Business
        for call in (*troubles(tool, Side.CALL), *_lasting(tool, Side.CALL))
        for undo in troubles(tool, Side.UNDO)
    ]
    cells += [Cell(tool, NOTHING, undo, run) for tool in Business for undo in _lasting(tool, Side.UNDO)]
    return list(dict.fromkeys(cells))


def troubles(tool: Business, side: Side) -> list[Trouble]:
    """Everything that one side of a tool can meet once."""
    if tool is not Business.EMAIL:
        stale = (tool, side) in READS
        return [NOTHING, *(Trouble(fault) for fault in Fault if fault is not Fault.STALE or stale)]
    early = (Fault.REFUSE, Fault.UNAVAILABLE, Fault.THROTTLED, Fault.DROP_BEFORE, Fault.HANG, Fault.GARBAGE)
    found = [Trouble(fault, at) for at in ("from", "rcpt", "data") for fault in early]
    return [NOTHING, *found, *(Trouble(fault, "end") for fault in Fault if fault is not Fault.STALE)]


def leaves_an_effect(cell_call: Trouble, tool: Business) -> bool:
    """Whether the step takes effect all the same, so that there is something to undo."""
    retried = (Fault.UNAVAILABLE, Fault.THROTTLED, Fault.DROP_BEFORE, Fault.HANG)
    if cell_call.lasting or cell_call.fault is Fault.REFUSE:
        return False
    if tool is Business.EMAIL:
        return cell_call.fault is None or (cell_call.at in ("from", "rcpt") and cell_call.fault in retried)
    if tool is Business.BLIND:
        # A huge answer takes longer than its client waits, at times.
        return cell_call.fault in (None, Fault.THROTTLED)
    return True


def _pairs(tool: Business, run: str) -> Iterator[Cell]:
    """Each undo's fault after a call that takes effect; then the calls that are left, and those that fail for good."""
    calls, undos = troubles(tool, Side.CALL), troubles(tool, Side.UNDO)
    effective = [call for call in calls if leaves_an_effect(call, tool)]
    others = [call for call in calls if call not in effective]
    if tool is Business.EMAIL:  # one at a time only with one another
        for lone in (True, False):
            some = [each for each in effective if (each.at in ONE_AT_A_TIME) is lone]
            for number, undo in enumerate(each for each in undos if (each.at in ONE_AT_A_TIME) is lone):
                yield Cell(tool, some[number % len(some)], undo, run)
    else:
        for number in range(max(len(effective), len(undos))):
            # Out of step, so that a fault does not meet itself.
            yield Cell(tool, effective[number % len(effective)], undos[(number * 5 + 3) % len(undos)], run)
    lasting = [call for call in _lasting(tool, Side.CALL) if call.fault in LASTING_IN_SHORT]
    yield from (Cell(tool, call, NOTHING, run) for call in (*others, *lasting))


def _lasting(tool: Business, side: Side) -> list[Trouble]:
    """Faults that are met every time; where the first one is not tried again they would be no others."""
    if tool is Business.EMAIL:
        faults = (Fault.UNAVAILABLE, Fault.THROTTLED, Fault.DROP_BEFORE, Fault.HANG)
        return [Trouble(fault, "rcpt", lasting=True) for fault in faults]
    if tool is Business.BLIND and side is Side.CALL:
        return [Trouble(Fault.THROTTLED, lasting=True)]
    harmless = (Fault.STALE, Fault.HUGE)
    return [Trouble(fault, lasting=True) for fault in Fault if fault not in harmless]
