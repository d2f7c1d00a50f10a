"""The cells: one step of one tool, a fault on its call, and a fault on its undo."""

from collections.abc import Iterator
from dataclasses import dataclass

from embedded.sandbox.faults import Fault
from tests.matrix.tools.subjects import (
    AT_MOST_ONCE,
    OPERATIONS,
    STALE_READS,
    Side,
    Subject,
    faults,
    lasting,
    lasting_in_short,
)


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


@dataclass(frozen=True)
class Cell:
    """One saga of one step, which is taken back."""

    tool: Subject
    call: Trouble
    undo: Trouble
    run: str = "b"

    @property
    def name(self) -> str:
        """The name of all that it makes, and of the workflow; none is the beginning of another, since all end alike."""
        tool = self.tool.value.replace(".", "-").replace("_", "-")
        return f"{self.run}-{tool}-{self.call.word}-{self.undo.word}-end"

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
        if self.tool is Subject.EMAIL:
            return f"mail.{trouble.at}"
        return (STALE_READS if trouble.fault is Fault.STALE else OPERATIONS)[self.tool, side]


def tools(*, engine: bool) -> list[Subject]:
    """All tools; the container's only with a Docker engine."""
    return [tool for tool in Subject if engine or tool is not Subject.CONTAINER]


def ordinary(*, engine: bool, run: str = "b") -> list[Cell]:
    """Pairwise: every fault on each side of every tool, and every fault that lasts until the call is given up."""
    return list(dict.fromkeys(cell for tool in tools(engine=engine) for cell in _pairs(tool, run)))


def soak(*, engine: bool, run: str = "b") -> list[Cell]:
    """All with all, and undos that fail until their budget is used up."""
    possible = tools(engine=engine)
    cells = [
        Cell(tool, call, undo, run)
        for tool in possible
        for call in (*troubles(tool, Side.CALL), *_lasting(tool, Side.CALL))
        for undo in troubles(tool, Side.UNDO)
    ]
    cells += [Cell(tool, NOTHING, undo, run) for tool in possible for undo in _lasting(tool, Side.UNDO)]
    return list(dict.fromkeys(cells))


def troubles(tool: Subject, side: Side) -> list[Trouble]:
    """Everything that one side of a tool can meet once."""
    if tool is not Subject.EMAIL:
        return [NOTHING, *map(Trouble, faults(tool, side))]
    early = (Fault.REFUSE, Fault.UNAVAILABLE, Fault.THROTTLED, Fault.DROP_BEFORE, Fault.HANG, Fault.GARBAGE)
    found = [Trouble(fault, at) for at in ("from", "rcpt", "data") for fault in early]
    return [NOTHING, *found, *(Trouble(fault, "end") for fault in Fault if fault is not Fault.STALE)]


def leaves_an_effect(cell_call: Trouble, tool: Subject) -> bool:
    """Whether the step takes effect all the same, so that there is something to undo."""
    retried = (Fault.UNAVAILABLE, Fault.THROTTLED, Fault.DROP_BEFORE, Fault.HANG)
    if cell_call.lasting or cell_call.fault is Fault.REFUSE:
        return False
    if tool is Subject.EMAIL:
        return cell_call.fault is None or (cell_call.at in ("from", "rcpt") and cell_call.fault in retried)
    if tool in AT_MOST_ONCE:
        # A huge answer takes longer than its client waits, at times.
        return cell_call.fault in (None, Fault.THROTTLED)
    return True


def _pairs(tool: Subject, run: str) -> Iterator[Cell]:
    """Each undo's fault after a call that takes effect; then the calls that are left, and those that fail for good."""
    calls, undos = troubles(tool, Side.CALL), troubles(tool, Side.UNDO)
    effective = [call for call in calls if leaves_an_effect(call, tool)]
    others = [call for call in calls if call not in effective]
    if tool is Subject.EMAIL:  # one at a time only with one another
        for lone in (True, False):
            some = [each for each in effective if (each.at in ONE_AT_A_TIME) is lone]
            for number, undo in enumerate(each for each in undos if (each.at in ONE_AT_A_TIME) is lone):
                yield Cell(tool, some[number % len(some)], undo, run)
    else:
        for number in range(max(len(effective), len(undos))):
            # Out of step, so that a fault does not meet itself.
            yield Cell(tool, effective[number % len(effective)], undos[(number * 5 + 3) % len(undos)], run)
    ever = [call for call in _lasting(tool, Side.CALL) if call.fault in lasting_in_short(tool)]
    yield from (Cell(tool, call, NOTHING, run) for call in (*others, *ever))


def _lasting(tool: Subject, side: Side) -> list[Trouble]:
    if tool is Subject.EMAIL:
        retried = (Fault.UNAVAILABLE, Fault.THROTTLED, Fault.DROP_BEFORE, Fault.HANG)
        return [Trouble(fault, "rcpt", lasting=True) for fault in retried]
    return [Trouble(fault, lasting=True) for fault in lasting(tool, side)]
