"""What people are told while something needs them, and the channels by which they are told."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict

MOST = 30
"""Effects or questions that one alert names; further ones are counted."""


class Severity(StrEnum):
    """How bad it is: HIGH while something is stuck or in doubt, CRITICAL while an effect stands that has no undo."""

    HIGH = "high"
    CRITICAL = "critical"


class OpenLine(BaseModel):
    """One effect in an alert: what it is, since when it needs a person, what is known, and what to do."""

    model_config = ConfigDict(frozen=True)

    step: str
    summary: str
    how: str
    since: datetime
    known: str
    to_do: str


class Question(BaseModel):
    """What the sweeper can't decide by itself.

    Attributes:
        key: The same at every look that asks it.
        what: What happened.
        world: In what state the world is now.
        to_do: What a person can do.
    """

    model_config = ConfigDict(frozen=True)

    key: str
    what: str
    world: str
    to_do: str

    @property
    def text(self) -> str:
        """All of it in plain words."""
        return f"{self.what}\n  the world: {self.world}\n  to do: {self.to_do}"


class Alert(BaseModel):
    """What is told of one saga that needs a person, or of what the sweeper asks.

    Attributes:
        key: The same at every attempt to tell this alert: of the form of a call's key.
        number: 1 for the first alert, and so on; 0 is the last word, that nothing is open any more.
        severity: How bad it is.
        reference: What the business calls the case; the workflow's id where the saga was not given anything.
        saga: Workflow id and first run id, joined by '/', as the commands take it; None with questions.
        error: Why the saga failed, in the provider's own words.
        failed_at: The step that failed.
        total: How many effects need a person, or how many questions are open.
        effects: The newest of them.
        questions: What the sweeper asks, the oldest question first.
        closed: What became of those that are closed, a line for each.
    """

    model_config = ConfigDict(frozen=True)

    key: str
    number: int
    severity: Severity
    reference: str
    saga: str | None = None
    error: str | None = None
    failed_at: str | None = None
    total: int = 0
    effects: list[OpenLine] = []
    questions: list[Question] = []
    closed: list[str] = []

    @property
    def headline(self) -> str:
        """One line: the case, and that it needs a person or does not any more."""
        if not self.number:
            return f"{self.reference}: nothing is open any more"
        what = "question" if self.questions else "step"
        counted = f"1 {what}" if self.total == 1 else f"{self.total} {what}s"
        return f"{self.severity.value.upper()}: {self.reference} needs a person: {counted} open"

    @property
    def text(self) -> str:
        """The whole alert in plain words."""
        lines = [self.headline + "."]
        if self.error:
            lines.append(f"The saga failed{f' at {self.failed_at}' if self.failed_at else ''}: {self.error}")
        for each in self.effects:
            lines += [
                "",
                f"- {each.step} ({each.summary}): {each.how}, since {each.since:%Y-%m-%d %H:%M} UTC",
                f"  known: {each.known}",
                f"  to do: {each.to_do}",
            ]
        for question in self.questions:
            lines += ["", f"- {question.text}"]
        if more := self.total - len(self.effects) - len(self.questions):
            lines += ["", f"And {more} more."]
        if self.closed:
            lines += ["", *(f"- {line}" for line in self.closed)]
        return "\n".join(
            [*lines, "", f"Saga {self.saga}, alert {self.key}" if self.saga else f"Alert {self.key}"]
        )


@runtime_checkable
class AlertChannel(Protocol):
    """One way to reach people; an application passes its own to the plugin.

    `send` runs in an activity of the application's worker, so it may use any client. When it raises it is tried
    again for a while; what it does not manage to send is logged, and holds up neither the other channels nor the
    reconciliation. It may be called twice for one alert, with the same `alert.key`.
    """

    @property
    def name(self) -> str:
        """What the channel is called, one name in the application; it stays the same across deployments."""
        ...

    async def send(self, alert: Alert) -> None:
        """Tell people of it."""
        ...
