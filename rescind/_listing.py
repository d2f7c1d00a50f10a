"""Which of a saga's records a report lists, in which order they are undone, and how many there are."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from pydantic_core import to_json

from rescind._counts import Counts
from rescind._record import Record, StepReport, is_clean, is_exact
from rescind._states import RecordState

REPORTED = 30
"""Steps in a report at most (DESIGN 12): it travels in a failure's details."""

_RESULTS = 300_000
"""Bytes of all results in a report at most; beyond them they are left to the ledger."""


def counted(records: Iterable[Record]) -> Counts:
    """How many of the records are of which kind."""
    all_of_them = list(records)
    return Counts(
        steps=len(all_of_them),
        standing=sum(not is_clean(record) for record in all_of_them),
        undone=sum(record.state is RecordState.UNDONE and record.changed for record in all_of_them),
        residue=sum(not is_exact(record) for record in all_of_them),
    )


def worth_listing(records: Sequence[Record], limit: int, *, first: Container[str] = ()) -> list[Record]:
    """At most so many records, in order: these steps first, then what stands or may stand, and then the newest.

    Args:
        records: The records.
        limit: So many at most.
        first: Steps that are listed before any other.
    """
    if len(records) <= limit:
        return list(records)
    by_worth = sorted(
        range(len(records)),
        key=lambda n: (records[n].step not in first, is_clean(records[n]), -n),
    )
    return [records[n] for n in sorted(by_worth[:limit])]


def newest_first(records: Iterable[Record]) -> list[Record]:
    """The records in the order of undoing: last started, first undone."""
    return sorted(records, key=lambda record: record.seq, reverse=True)


def without_large_results(steps: list[StepReport]) -> list[StepReport]:
    """The steps with their results, or without any where these are too large to travel together."""
    if len(to_json([step.result for step in steps])) <= _RESULTS:
        return steps
    return [step.model_copy(update={"result": None}) for step in steps]
