"""What the Temporal Web UI shows of a reconciliation, in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from rescind._details import table_row
from rescind.reconciliation._alerts import MOST
from rescind.reconciliation._case import Case, OpenStep, Progress
from rescind.reconciliation._words import in_words, to_do


def details(case: Case, progress: Progress, reference: str, untold: Mapping[str, str]) -> str:
    """What is open, since when, what is known and what to do; then what was said and what comes next."""
    lines = [f"**{reference}: {case.total} open**", ""]
    if case.error:
        lines += [f"The saga failed{f' at {case.failed_at}' if case.failed_at else ''}: {case.error}", ""]
    if case.steps:
        lines += [
            "| step | what | state | since (UTC) | what is known | what to do |",
            "|---|---|---|---|---|---|",
        ]
        lines += [_row(step) for step in case.steps[:MOST]]
    if case.total > MOST:
        lines += ["", f"and {case.total - MOST} more"]
    if case.steps:
        lines += ["", *_next(case.steps, progress)]
    if progress.closed:
        lines += ["", "Closed:", "", *(f"- {step}: {words}" for step, words in progress.closed.items())]
    lines += [f"\nNot told by {channel}: {why}" for channel, why in untold.items()]
    return "\n".join(lines)


def _row(step: OpenStep) -> str:
    since = f"{step.since:%Y-%m-%d %H:%M}"
    return table_row((step.step, step.summary, in_words(step.how), since, step.known, to_do(step.how)))


def _next(steps: Sequence[OpenStep], progress: Progress) -> list[str]:
    lines = [f"Next alert: {_time(progress.next_alert)} UTC"] if progress.next_alert else []
    if progress.next_retry and any(step.goes_on_by_itself for step in steps):
        lines.append(f", next try by itself: {_time(progress.next_retry)} UTC")
    return ["".join(lines)]


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}"
