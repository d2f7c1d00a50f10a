"""How many steps of a saga are of which kind, for reports that do not list them all."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Counts(BaseModel):
    """How many steps there are of which kind, where not all are listed.

    Attributes:
        steps: All of them.
        standing: Those that stand or may stand; a step that changed nothing is none of them.
        undone: Those that had changed something and are undone.
        residue: Those of the undone that have left something.
    """

    model_config = ConfigDict(frozen=True)

    steps: int = 0
    standing: int = 0
    undone: int = 0
    residue: int = 0

    def __add__(self, other: Counts) -> Counts:
        """Both together."""
        return Counts(
            steps=self.steps + other.steps,
            standing=self.standing + other.standing,
            undone=self.undone + other.undone,
            residue=self.residue + other.residue,
        )

    def __sub__(self, other: Counts) -> Counts:
        """What is left of these without those, and never less than none."""
        return Counts(
            steps=max(0, self.steps - other.steps),
            standing=max(0, self.standing - other.standing),
            undone=max(0, self.undone - other.undone),
            residue=max(0, self.residue - other.residue),
        )
