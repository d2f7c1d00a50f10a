"""What the journal alone says of a saga and its effects, and where the ledger's rows say something else."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

Row = dict[str, Any]

_BLANK: Row = {
    "tool": "",
    "version": 0,
    "repeat": None,
    "digest": "",
    "request": None,
    "fenced": False,
    "attempt": 0,
    "unproven": [],
    "landing": "-infinity",
    "before": None,
    "result": None,
    "changed": True,
    "found": False,
    "undo_try": 0,
    "undo_landing": "-infinity",
    "dirty": False,
    "restoration": None,
    "error": None,
}
"""What a row is in all that its first line does not name."""

_NEVER_BEGUN: Row = {"state": "open", "epoch": 0, "owner": None, "report": None, "part": []}
"""What a saga's row is that was locked for a statement which then changed nothing: it has no line at all."""

_TIMES = frozenset({"started", "landing", "undo_landing"})


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the journal, as it is hashed.

    Attributes:
        n: Its number in the saga's journal, from 1.
        at: When it was written, in microseconds since 1970.
        event: The statement that wrote it.
        body: What it changed, as PostgreSQL writes the JSON.
        hash: What is on record as its hash, in hexadecimal digits.
    """

    n: int
    at: int
    event: str
    body: str
    hash: str

    def chained(self, saga: str, n: int, head: bytes) -> bytes:
        """The hash of this line as the n-th one behind the line whose hash is `head`."""
        text = f"{n}\n{self.at}\n{self.event}\n{saga}\n{self.body}"
        return hashlib.sha256(head + text.encode()).digest()


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A saga's row and those of its effects by their keys; a saga without a line has only what all have."""

    saga: Row = field(default_factory=lambda: dict(_NEVER_BEGUN))
    effects: dict[str, Row] = field(default_factory=dict[str, Row])


@dataclass(frozen=True, slots=True)
class OnRecord:
    """One saga as it is on record: its row, those of its effects, and its journal in order."""

    id: str
    saga: Row | None
    effects: Sequence[Row]
    lines: Sequence[Line]


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where a ledger contradicts itself."""

    saga: str
    what: str

    def __str__(self) -> str:
        """One line for a person."""
        return f"{self.saga}: {self.what}"


@dataclass(slots=True)
class Verified:
    """What a comparison of a ledger with its journal came to."""

    sagas: int = 0
    effects: int = 0
    lines: int = 0
    differences: list[Difference] = field(default_factory=list[Difference])

    def add(self, saga: OnRecord) -> None:
        """Compare one more saga."""
        self.sagas += saga.saga is not None
        self.effects += len(saga.effects)
        self.lines += len(saga.lines)
        self.differences += [Difference(saga.id, what) for what in contradictions(saga)]


def rebuild(saga: str, lines: Sequence[Line]) -> Rebuilt:
    """The saga and its effects as the journal alone tells them."""
    rebuilt = Rebuilt()
    for line in lines:
        body = cast("dict[str, Any]", json.loads(line.body))
        rebuilt.saga.update(body.get("saga", {}))
        if "key" in body:
            effect = rebuilt.effects.setdefault(body["key"], {**_BLANK, "saga": saga})
            effect.update(body["effect"])
    return rebuilt


def contradictions(on_record: OnRecord) -> Iterator[str]:
    """Every place where one saga's journal is not whole, or says something else than its rows; in words.

    A journal that is not whole is not compared with the rows: what it would say is worth nothing.
    """
    broken = _broken(on_record)
    if broken:
        yield broken
        return
    rebuilt = rebuild(on_record.id, on_record.lines)
    if on_record.saga is not None:
        row = {name: value for name, value in on_record.saga.items() if name not in {"n", "head"}}
        if not on_record.lines:
            rebuilt.saga.update(id=on_record.id, started=row["started"])
        yield from _compared("the saga", row, rebuilt.saga)
    rows = {row["key"]: row for row in on_record.effects}
    for key in sorted(rows.keys() | rebuilt.effects.keys()):
        if key not in rows:
            yield f"effect {key} has no row, and its journal says {rebuilt.effects[key]['state']!r}"
        elif key not in rebuilt.effects:
            yield f"effect {key} has a row ({rows[key]['state']!r}), and no line of the journal"
        else:
            yield from _compared(f"effect {key}", rows[key], rebuilt.effects[key])


def _broken(on_record: OnRecord) -> str | None:
    head = b""
    for n, line in enumerate(on_record.lines, 1):
        head = line.chained(on_record.id, n, head)
        if line.n != n or line.hash != head.hex():
            return f"line {n} of the journal is missing or was changed"
    row = on_record.saga
    if row is None:
        return f"the saga has no row, and {len(on_record.lines)} lines of the journal"
    if (row["n"], row["head"]) != (len(on_record.lines), head.hex()):
        return (
            f"line {len(on_record.lines) + 1} of the journal is missing, or the row's own count was changed"
        )
    return None


def _compared(what: str, row: Mapping[str, Any], rebuilt: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted(row.keys() | rebuilt.keys()):
        has, told = (_read(name, each.get(name)) for each in (row, rebuilt))
        if has != told:
            yield f"{what}: {name} is {_short(has)}, and its journal says {_short(told)}"


def _read(name: str, value: Any) -> Any:
    """A moment is compared as such: sessions write it in their own time zones."""
    is_time = name in _TIMES and isinstance(value, str) and not value.endswith("infinity")
    return datetime.fromisoformat(value) if is_time else value


def _short(value: object) -> str:
    text = repr(str(value) if isinstance(value, datetime) else value)
    return text if len(text) <= 200 else f"{text[:199]}…"
