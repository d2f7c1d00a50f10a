"""The laws that every tool keeps, each in one sentence, and what became of one in a check."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class Law(StrEnum):
    """One law; `sentence` says it in words."""

    RESTORED = "restored"
    FOUND = "found"
    ONE_EFFECT = "one effect"
    UNDONE_TWICE = "undone twice"
    NOTHING_TO_UNDO = "nothing to undo"
    LATE_CALL = "late call"
    CONFLICT = "conflict"
    NO_OP = "no-op"
    CRASH_BEFORE = "crash before the call"
    CRASH_AFTER = "crash after the call"
    READ_ONLY = "read-only"

    @property
    def sentence(self) -> str:
        """What holds for a tool that keeps the law."""
        return _SENTENCES[self]


_SENTENCES = {
    Law.RESTORED: "An undo leaves the world as it was, to the grade that it claims.",
    Law.FOUND: "The lookup finds what was done, with its result, and does not find what was never done.",
    Law.ONE_EFFECT: "A call whose report is lost, made again with its key, has one effect.",
    Law.UNDONE_TWICE: "An undo whose report is lost is done again: that is no conflict, and changes nothing more.",
    Law.NOTHING_TO_UNDO: "The undo of what is not there says so, and changes nothing.",
    Law.LATE_CALL: "A call that comes after its undo is refused, or it is seen and undone again.",
    Law.CONFLICT: "What somebody else has changed since is a conflict, and survives the undo.",
    Law.NO_OP: "A call that changed nothing, or was refused, is not undone: what was there before stays.",
    Law.CRASH_BEFORE: "A crash just before the call leaves nothing, is not taken for an effect, and is tried again.",
    Law.CRASH_AFTER: "A crash between the effect and its report loses nothing: it is found and undone, or in doubt.",
    Law.READ_ONLY: "A tool that only reads changes nothing.",
}


class Verdict(StrEnum):
    """What became of a law in a check."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not applicable"


class LawOutcome(BaseModel):
    """What became of one law.

    Attributes:
        law: The law.
        verdict: What became of it.
        why: What was seen; for a failed law what is wrong with the tool.
    """

    model_config = ConfigDict(frozen=True)

    law: Law
    verdict: Verdict
    why: str


class Broken(Exception):
    """The tool does not keep the law."""


class NotApplicable(Exception):
    """The law says nothing about this tool, or the world can't show it."""
