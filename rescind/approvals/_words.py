"""What people say of a point of no return, and the sentences with which they are answered."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field
from temporalio.exceptions import ApplicationError

from rescind._catalogue import AnyTool
from rescind._persons_word import Note, Who, word_of
from rescind._record import Waiting
from rescind._tool import Risk

NOT_APPROVED = "NotApproved"
"""The type of the failure of a step that people have rejected, or that nobody has approved in time."""


class Verdict(StrEnum):
    """What a person can say, by the Update of this name."""

    APPROVE = "approve"
    REJECT = "reject"


class Opinion(BaseModel):
    """What a person says of one step that waits; the argument of both Updates.

    Attributes:
        step: The step's name and number, `notify#1`.
        digest: Of the request that the person has seen; where it is given, a changed request is refused.
            One of step and digest has to be given, so that a word can't open another step than was meant.
        who: Who says it; taken on trust and kept in the journal.
        note: Why; a rejection needs one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    step: str | None = Field(default=None, min_length=1, max_length=1000)
    digest: str | None = Field(default=None, min_length=8, max_length=64)
    who: Who
    note: Note | None = None


def approvals_for(tool: AnyTool) -> int:
    """How many people have to approve a step of this tool (DESIGN 7)."""
    if tool.read_only or tool.is_reversible:
        return 0
    return 2 if tool.risk is Risk.CRITICAL else 1


def not_taken(why: str) -> ApplicationError:
    """A person's word is not taken; the saga is as it was."""
    return ApplicationError(f"{why}. Nothing was changed by this", type="NotTaken", non_retryable=True)


def heard(verdict: Verdict, said: object) -> Opinion:
    """A person's word as they sent it, checked.

    Raises:
        ApplicationError: It is not what the Update takes; the message names every problem.
    """
    opinion = word_of(Opinion, verdict, said, not_taken)
    if opinion.step is None and opinion.digest is None:
        raise not_taken(f"{verdict} has to name the step, or the digest of what is meant")
    if verdict is Verdict.REJECT and opinion.note is None:
        raise not_taken("reject needs a note: why it must not be done")
    return opinion


def waited_for(opinion: Opinion, waiting: dict[str, Waiting]) -> str:
    """The step that waits and is spoken of.

    Raises:
        ApplicationError: None such waits, or its request is not the one that was seen; the message says which do.
    """
    names = ", ".join(waiting) or "nothing"
    found = [
        step
        for step, each in waiting.items()
        if opinion.step in (None, step) and each.digest.startswith(opinion.digest or "")
    ]
    if len(found) == 1:
        return found[0]
    if opinion.step in waiting:
        raise not_taken(
            f"what {opinion.step} asks for is not what was seen, its digest differs; look at it again"
        )
    what = f"the step {opinion.step!r}" if opinion.step else "what has this digest"
    raise not_taken(
        f"{what} does not wait for approval: it has not been reached, or was decided. Waiting: {names}"
    )
