"""What one run of the demo is made of."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from embedded import Description


@dataclass(frozen=True, slots=True)
class Place:
    """Where the demo happens: the stand-ins, and the environment that leads to them and nowhere else."""

    stack: Description
    environment: Mapping[str, str]


Arranged = Callable[[Place, str], AbstractContextManager[tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class Case:
    """One run.

    Attributes:
        name: Its environment's name ends with it.
        story: What happens, in words.
        options: What the starter is told beside the name.
        arranged: Makes the cause of the failure, and takes it away again; gives further options.
        fails_at: The step that fails, or None.
        agent: The starter's command.
    """

    name: str
    story: str
    options: tuple[str, ...] = ()
    arranged: Arranged = lambda _place, _name: nullcontext(())
    fails_at: str | None = None
    agent: str = "provision"
