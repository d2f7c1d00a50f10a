"""What Temporal's histories tell of a saga's steps, and where the ledger tells something else."""

import json
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from temporalio.client import Client

from rescind import RecordState
from rescind.ledger import EffectView
from tests.rescind.sagas import Handle

Told = tuple[str, dict[str, Any], Any]
"""An activity about a step: its id, what it was asked, and its answer; None for one that is only scheduled."""

_NOBODY_CAN_TELL = (RecordState.IN_DOUBT, RecordState.RESOLVED)


@dataclass
class Histories:
    """What came of each step by the histories of all runs of its saga; the effects' keys name them.

    Attributes:
        asked: What each was asked to do; a reset may have asked for something else under the same key.
        applied: The last answer of each that took effect, in the last run; without those that were undone after it.
        undone: How well each was undone, by any run.
    """

    asked: defaultdict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    applied: dict[str, Any] = field(default_factory=dict[str, Any])
    undone: dict[str, Any] = field(default_factory=dict[str, Any])

    def add(self, told: Told) -> None:
        """Take in what one activity was asked, or what it has answered."""
        activity, order, answer = told
        key = f"{order['saga']}/{order['step']}"
        kind = activity.removeprefix(order["step"]).strip("/").partition("-")[0]
        if answer is None:
            self.asked[key] += [order["request"]] if "request" in order else []
        elif kind == "undo":
            self.applied.pop(key, None)
            self.undone[key] = answer
        elif kind in ("", "settle") and answer["state"] == RecordState.APPLIED:
            self.applied[key] = answer

    def wrong(
        self, rows: Sequence[EffectView], *, committed: bool, taken_over: bool, lossy: bool = False
    ) -> Iterator[str]:
        """Where these rows say something else, in words.

        Args:
            rows: All effects of the saga.
            committed: Whether the last run has completed: then exactly what it has done stands.
            taken_over: Whether others have undone it, too.
            lossy: Whether the database was killed: it may have lost the last reports, and then nobody can tell, or a
                person has told the result in short.
        """
        by_key = {row.key: row for row in rows}
        for key, row in by_key.items():
            if row.request is not None and row.request not in self.asked[key]:
                yield f"{key} is on record with {row.request}, and no history has asked for that"
            restored = self.undone.get(key, row.restoration)
            if row.state is RecordState.UNDONE and not taken_over and row.restoration != restored:
                yield f"{key} is undone as {row.restoration}, and by its history as {restored}"
        for key, answer in self.applied.items():
            found = by_key.get(key)
            if not (lossy and found and _report_was_lost(answer, found)):
                yield from _answered(key, answer, found)
        standing = {key for key, row in by_key.items() if row.state is RecordState.APPLIED}
        if committed:
            yield from (f"{key} is committed, and its history has not done it" for key in self._alien(by_key))
            changed = {key for key, answer in self.applied.items() if answer["changed"]}
            yield from (f"{key} is done by its history, and does not stand" for key in changed - standing)

    def _alien(self, by_key: dict[str, EffectView]) -> set[str]:
        standing = {key for key, row in by_key.items() if row.state is RecordState.APPLIED and row.changed}
        return standing - self.applied.keys()


def _report_was_lost(answer: Any, row: EffectView) -> bool:
    if row.result is None:
        return row.state in _NOBODY_CAN_TELL
    if not isinstance(row.result, dict):
        return False
    full: dict[str, Any] = answer["result"]
    return {**full, **row.result} == full


def _answered(key: str, answer: Any, row: EffectView | None) -> Iterator[str]:
    if row is None or row.state in {RecordState.INTENDED, RecordState.ABSENT}:
        yield f"{key} took effect by its history, and the ledger has it as {row.state.value if row else 'nothing'}"
    elif answer["result"] not in (None, row.result):
        yield f"{key} has the result {row.result}, and its history {answer['result']}"


async def histories(client: Client, runs: Sequence[Handle], child: str) -> Histories:
    """Those of the runs of one saga, the last one last, and of its child sagas, which are workflows of this type."""
    all_of_it = Histories()
    for run in runs:
        all_of_it.applied.clear()
        async for told in _activities(client, run, child):
            all_of_it.add(told)
    return all_of_it


async def _activities(client: Client, run: Handle, child: str) -> AsyncIterator[Told]:
    scheduled: dict[int, tuple[str, dict[str, Any]]] = {}
    async for event in run.fetch_history_events():
        if event.HasField("activity_task_scheduled_event_attributes"):
            asked = event.activity_task_scheduled_event_attributes
            order = json.loads(asked.input.payloads[0].data)
            if order.get("seq"):
                scheduled[event.event_id] = asked.activity_id, order
                yield asked.activity_id, order, None
        elif event.HasField("activity_task_completed_event_attributes"):
            done = event.activity_task_completed_event_attributes
            answer = json.loads(done.result.payloads[0].data or b"null")
            if done.scheduled_event_id in scheduled and answer is not None:
                yield *scheduled[done.scheduled_event_id], answer
        elif event.HasField("child_workflow_execution_started_event_attributes"):
            begun = event.child_workflow_execution_started_event_attributes
            if begun.workflow_type.name == child:
                id_and_run = begun.workflow_execution
                inner = client.get_workflow_handle(id_and_run.workflow_id, run_id=id_and_run.run_id)
                async for told in _activities(client, inner, child):
                    yield told
