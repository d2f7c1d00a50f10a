"""A small outside system: things that are made as often as asked, and values that are set."""

from dataclasses import dataclass
from enum import StrEnum

from pydantic import JsonValue

from rescind._states import Repeat

WANTED = "wanted"


class Kind(StrEnum):
    """What a call does: every call makes one more, or every call sets the same value."""

    MAKE = "make"
    SET = "set"


@dataclass(slots=True)
class World:
    """What one effect has left in the outside system."""

    kind: Kind
    repeat: Repeat
    value: str
    original: str
    made: int = 0
    provider_has_seen_key: bool = False
    forgets_key_with_undo: bool = False

    def act(self) -> bool:
        """One call arrives; returns whether it changed anything."""
        if self.kind is Kind.SET:
            changed = self.value != WANTED
            self.value = WANTED
            return changed
        if self.repeat is Repeat.DEDUPLICATED and self.provider_has_seen_key:
            return True  # the provider answers as it answered the first time
        self.provider_has_seen_key = True
        self.made += 1
        return True

    def stands(self) -> bool:
        """Whether a lookup finds the effect."""
        return self.value == WANTED if self.kind is Kind.SET else self.made > 0

    def undo(self, before: JsonValue) -> None:
        """One compensation arrives: compare, then take one back."""
        if self.kind is Kind.MAKE:
            self.made = max(0, self.made - 1)
            if self.forgets_key_with_undo:
                self.provider_has_seen_key = False
        elif self.value == WANTED and isinstance(before, str):
            self.value = before

    def mend_by_hand(self) -> None:
        """A person puts everything back."""
        self.made = 0
        self.value = self.original

    def is_as_before(self) -> bool:
        """Whether nothing of the effect is left."""
        return self.made == 0 and self.value == self.original
