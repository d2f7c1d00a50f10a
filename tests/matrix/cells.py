"""The cells of the matrix: which step meets which trouble, and what the provider does for it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from tests.faults import Fault


class Step(StrEnum):
    """A step of ProvisionEnvironment; the deployment goes to ECS or to a Docker engine."""

    BRANCH = "branch"
    BUCKET = "bucket"
    SCHEMA = "schema"
    SERVICE = "service"
    CONTAINER = "container"
    NOTIFICATION = "notification"

    @property
    def number(self) -> int:
        """Its place among the steps of a saga, from 1 on."""
        return {"branch": 1, "bucket": 2, "schema": 3, "notification": 5}.get(self.value, 4)


class Trouble(StrEnum):
    """What a step meets."""

    NONE = "nothing"
    REFUSED = "refused before the effect"
    REFUSED_SECOND = "reply lost, then refused"
    DROPPED = "connection dropped after the effect"
    TIMED_OUT = "time-out after the effect"
    KILLED_BEFORE = "SIGKILL before the call"
    KILLED_DURING = "SIGKILL during the call"
    KILLED_AFTER = "SIGKILL after the call"
    STOPPED = "SIGSTOP longer than the step, then woken"
    CANCELLED = "cancelled during the call"
    LATE = "acts late, its client has gone"

    @property
    def strikes_the_worker(self) -> bool:
        """Whether the worker itself is killed or stopped, so that only cells of this trouble may be on it."""
        return self in {Trouble.KILLED_BEFORE, Trouble.KILLED_DURING, Trouble.KILLED_AFTER, Trouble.STOPPED}

    @property
    def waits_at_the_gate(self) -> bool:
        """Whether something is done while the call stands at the gate."""
        return self.strikes_the_worker or self is Trouble.CANCELLED


FAULTS: dict[Trouble, list[Fault | None]] = {
    Trouble.NONE: [],
    Trouble.REFUSED: [Fault.REFUSE],
    Trouble.REFUSED_SECOND: [Fault.DROP_AFTER, Fault.REFUSE],
    Trouble.DROPPED: [Fault.DROP_AFTER],
    Trouble.TIMED_OUT: [Fault.HANG_AFTER],
    Trouble.KILLED_BEFORE: [Fault.HOLD],
    Trouble.KILLED_DURING: [Fault.HANG_BEFORE],
    Trouble.KILLED_AFTER: [Fault.HANG_AFTER],
    Trouble.STOPPED: [Fault.HOLD],
    Trouble.CANCELLED: [Fault.HANG_BEFORE],
    Trouble.LATE: [Fault.HANG_BEFORE],
}

LATE_SECONDS = 1.5
"""How long after the going of its client a late call acts; within what every tool's `late_for` allows for."""


@dataclass(frozen=True)
class Cell:
    """One saga that meets one trouble at one step.

    Attributes:
        step: Where.
        trouble: What.
        doomed: Whether the notification is refused in the end, so that all that came before has to be undone.
        operation: The provider's operation that meets the trouble; empty is the one that matters most.
        run: A word that keeps the names of two runs apart.
    """

    step: Step
    trouble: Trouble
    doomed: bool = False
    operation: str = ""
    run: str = "m"

    @property
    def name(self) -> str:
        """The name of everything that the saga makes, of its workflow and of its aliases."""
        words = [self.run, self.trouble.name.lower().replace("_", ""), self.step.value]
        words += self.operation.split()
        return "-".join([*words, "doomed" if self.doomed else "alone"])

    @property
    def title(self) -> str:
        """The cell in words."""
        where = f"{self.step.value} ({self.operation})" if self.operation else self.step.value
        return f"{where}: {self.trouble.value}{', and then the last step fails' if self.doomed else ''}"

    @property
    def deployment(self) -> Step:
        """Where this saga deploys to."""
        return Step.CONTAINER if self.step is Step.CONTAINER else Step.SERVICE


CONTAINER_IN_COMPACT = (Trouble.NONE, Trouble.DROPPED, Trouble.KILLED_DURING)

DOOMED_IN_SHORT = (Trouble.DROPPED, Trouble.TIMED_OUT, Trouble.LATE)
"""What these leave is also undone; with RESCIND_SOAK what every trouble leaves."""


def compact(*, engine: bool) -> list[Cell]:
    """Every trouble at each of the five steps, and one that is recovered and then undone: for the ordinary run.

    A deployment goes to ECS; to an engine only where its answer is lost or its worker dies.
    """
    return [
        cell
        for cell in every(engine=engine)
        if (cell.trouble is Trouble.DROPPED if cell.doomed else True)
        and (cell.step is not Step.CONTAINER or cell.trouble in CONTAINER_IN_COMPACT)
    ]


def every(*, engine: bool, run: str = "m") -> list[Cell]:
    """Every trouble at every step, and what was recovered undone again; container cells only with an engine."""
    plain = [Cell(step, trouble, run=run) for trouble in Trouble for step in _steps(trouble, engine=engine)]
    return plain + list(_doomed(DOOMED_IN_SHORT, engine=engine, run=run))


def soak(*, engine: bool) -> list[Cell]:
    """Still more: each trouble followed by an undo too, and at every other request that a step is made of."""
    cells = [cell for cell in every(engine=engine) if not cell.doomed]
    cells += _doomed([trouble for trouble in Trouble if trouble is not Trouble.NONE], engine=engine, run="m")
    others = [(Step.BUCKET, "tag bucket"), (Step.SERVICE, "register")]
    others += [(Step.CONTAINER, "start")] if engine else []
    return cells + [
        Cell(step, trouble, doomed=doomed, operation=operation)
        for trouble in Trouble
        if trouble is not Trouble.NONE
        for step, operation in others
        for doomed in (False, True)
    ]


def _doomed(troubles: Iterable[Trouble], *, engine: bool, run: str) -> Iterator[Cell]:
    for trouble in troubles:
        for step in _steps(trouble, engine=engine):
            if step is not Step.NOTIFICATION:
                yield Cell(step, trouble, doomed=True, run=run)


def _steps(trouble: Trouble, *, engine: bool) -> list[Step]:
    if trouble is Trouble.NONE:
        return [Step.SERVICE, Step.CONTAINER] if engine else [Step.SERVICE]
    return [step for step in Step if engine or step is not Step.CONTAINER]
