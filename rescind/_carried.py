"""What a run of a saga's workflow hands to the run that continues it: which steps stand, in a few numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pydantic import BaseModel, ConfigDict
from temporalio import workflow
from temporalio.api.common.v1 import Payload

from rescind._errors import SagaRefused
from rescind._record import Record, is_clean
from rescind._wire import SagaOrder

HEADER = "rescind-saga"
"""The header of the continued run; Temporal does not encode headers by default, so nothing of a request is in it."""

LIMIT = 500_000
"""Bytes of the header at most: with the input it has to fit into one event of at most 2 MiB."""

Ranges = tuple[tuple[int, int], ...]
"""Numbers in order, as first and last of each run of them."""


class Under(BaseModel):
    """Where a child saga has its place in its root.

    Attributes:
        saga: The root saga.
        epoch: The root's epoch.
        step: The child's step, with those of the sagas around it: `trip#1/hotel#2`.
        seq: Its place in the order of the root.
    """

    model_config = ConfigDict(frozen=True)

    saga: str
    epoch: int
    step: str
    seq: tuple[int, ...]


class Carried(BaseModel):
    """The steps of the earlier runs: how many there were of each name, and which of them are exceptions.

    Its size does not depend on the number of steps, only on that of names and exceptions. All else is in
    the ledger, from which an unwinding takes it.

    Attributes:
        steps: Steps that were pushed on the stack, in all.
        numbers: How many numbers of each name were used; read-only steps use one, too.
        gone: Of those, the ones that do not stand: absent, undone, or read-only.
        idle: The ones that stand and have changed nothing.
        parts: The same of each child saga that has ended well, by its step.
        under: Where the saga has its place, if it is a child of another.
    """

    model_config = ConfigDict(frozen=True)

    steps: int = 0
    numbers: dict[str, int] = {}
    gone: dict[str, Ranges] = {}
    idle: dict[str, Ranges] = {}
    parts: dict[str, Carried] = {}
    under: Under | None = None

    def standing(self) -> Iterator[str]:
        """The steps that took effect and stand, those included that changed nothing."""
        for name, count in self.numbers.items():
            gone = set(_numbers(self.gone.get(name, ())))
            yield from (f"{name}#{number}" for number in range(1, count + 1) if number not in gone)
        for step, part in self.parts.items():
            yield from (f"{step}/{inner}" for inner in part.standing())

    def changes(self) -> set[str]:
        """The steps that stand and have changed something."""
        idle = {f"{name}#{number}" for name, ranges in self.idle.items() for number in _numbers(ranges)}
        inner = {f"{step}/{each}" for step, part in self.parts.items() for each in part.standing()}
        changing = {f"{step}/{each}" for step, part in self.parts.items() for each in part.changes()}
        return set(self.standing()) - idle - (inner - changing)

    def and_then(
        self,
        numbers: Mapping[str, int],
        records: Iterable[Record],
        parts: Mapping[str, Carried] | None = None,
    ) -> Carried:
        """The same with the steps of one more run, which are settled.

        Args:
            numbers: How many numbers of each name have been used by now.
            records: The run's records.
            parts: What its child sagas have left standing, by their steps.
        """
        known = {record.step: record for record in records}
        gone, idle = dict(self.gone), dict(self.idle)
        for name, count in numbers.items():
            new = range(self.numbers.get(name, 0) + 1, count + 1)
            found = {number: known.get(f"{name}#{number}") for number in new}
            _extend(
                gone, name, (number for number, record in found.items() if not (record and record.stands))
            )
            _extend(
                idle,
                name,
                (n for n, record in found.items() if record and record.stands and is_clean(record)),
            )
        return Carried(
            steps=self.steps + len(known),
            numbers=dict(numbers),
            gone=gone,
            idle=idle,
            parts={**self.parts, **(parts or {})},
            under=self.under,
        )

    def payload(self) -> Payload:
        """The header.

        Raises:
            SagaRefused: It would not fit; nothing was handed on.
        """
        data = self.model_dump_json(exclude_defaults=True).encode()
        if len(data) > LIMIT:
            raise SagaRefused(
                f"the workflow can't continue as new: what it has to hand on of its saga has {len(data)} bytes, and at "
                f"most {LIMIT} fit. Give the steps fewer different names; their numbers tell them apart"
            )
        return Payload(metadata={"encoding": b"json/plain"}, data=data)


class SurveyOrder(SagaOrder):
    """Asks what stands of a saga when its unwinding begins; `expected` is what its workflow knows to stand."""

    expected: Carried


def handed_to_this_run() -> Carried | None:
    """What the run before, or the saga around this one, handed to this run; None where nobody did."""
    header = header_of_this_run()
    return None if header is None else Carried.model_validate_json(header.data)


def header_of_this_run() -> Payload | None:
    """The header as it came; one of a workflow that no other workflow has started is none of ours."""
    info = workflow.info()
    return info.headers.get(HEADER) if info.continued_run_id or info.parent else None


def _numbers(ranges: Ranges) -> Iterator[int]:
    for first, last in ranges:
        yield from range(first, last + 1)


def _extend(known: dict[str, Ranges], name: str, numbers: Iterable[int]) -> None:
    """Add numbers, in order, all above those that are known."""
    ranges = list(known.get(name, ()))
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    if ranges:
        known[name] = tuple(ranges)
