"""The part of a saga that a savepoint's block makes up: the steps that were started inside it."""

from __future__ import annotations

import contextvars

from rescind._record import Record


class Part:
    """Steps of one saga that are undone together, without the rest.

    A step belongs to the block in whose task it runs, or in a task that was made there; so a branch that
    runs beside it belongs to another part.

    Attributes:
        records: The records of its steps, those of inner parts included.
        undone: True once it is being undone; no step is started in it any more.
        left: True once its block was left well; steps that come later belong to the part around it.
    """

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.undone = False
        self.left = False
        self.outer = current_part()

    def push(self, record: Record) -> None:
        """Count a step among this part's, and those of the parts around it."""
        self.records.append(record)
        if self.outer:
            self.outer.push(record)

    @property
    def is_undone(self) -> bool:
        """Whether this part, or one around it, is being undone."""
        return self.undone or self.is_in_undone

    @property
    def is_in_undone(self) -> bool:
        """Whether a part around this one is being undone, and this one with it."""
        return self.outer is not None and self.outer.is_undone


_current: contextvars.ContextVar[Part | None] = contextvars.ContextVar("rescind_part", default=None)


def current_part() -> Part | None:
    """The part that a step belongs to which is started here."""
    part = _current.get()
    while part is not None and part.left:
        part = part.outer
    return part


def enter(part: Part | None) -> None:
    """Make this the part of what the current task does from here on."""
    _current.set(part)


def is_undone_here() -> bool:
    """Whether the part in which the caller runs is being undone."""
    part = current_part()
    return part is not None and part.is_undone
