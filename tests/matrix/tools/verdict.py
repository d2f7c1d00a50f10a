"""Judges the cells by the world before and after: what is left is what the reports say, and nothing came twice."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from embedded.world import World, difference
from rescind import RecordState, SagaState
from tests.matrix.tools.bench import Batch, Ended
from tests.matrix.tools.history import History
from tests.matrix.tools.providers import Case
from tests.matrix.tools.subjects import FOR_GOOD, READS, Subject

CLEAN = frozenset({RecordState.ABSENT, RecordState.UNDONE})
_ENDS = {RecordState.ABSENT: "not done"}
_FOR_GOOD_ENDS = _ENDS | {RecordState.STUCK: "stands"}


@dataclass(frozen=True)
class Verdict:
    """What became of one cell.

    Attributes:
        ended: Its end.
        end: The end in a word or two.
        left: What is in the world of it that was not there before.
        problems: Why it is not as it should be; empty if it is.
        false_clean: It was called clean, and is not.
        double: Its call took effect twice.
        repeats: Mails that came once more with the Message-ID of an earlier one.
    """

    ended: Ended
    end: str
    left: tuple[str, ...]
    problems: tuple[str, ...]
    false_clean: bool
    double: bool
    repeats: int


@dataclass(frozen=True)
class Judgement:
    """All verdicts, and what differs in the world without belonging to any cell."""

    verdicts: list[Verdict]
    strays: list[str]
    seconds: float

    @property
    def false_clean(self) -> int:
        """Cells that were called clean and are not."""
        return sum(verdict.false_clean for verdict in self.verdicts)

    @property
    def doubles(self) -> int:
        """Cells whose call took effect twice."""
        return sum(verdict.double for verdict in self.verdicts)

    @property
    def problems(self) -> list[str]:
        """Everything that is not as it should be."""
        return [
            f"{verdict.ended.case.cell.title}: {problem}"
            for verdict in self.verdicts
            for problem in verdict.problems
        ] + [f"of no saga: {stray}" for stray in self.strays]


def judge_all(batch: Batch) -> Judgement:
    """Share the differences out among the cells, and judge each."""
    cases = [ended.case for ended in batch.ended]
    shares = _shared_out(difference(batch.before, batch.after), batch.after, cases)
    verdicts = [_judge(ended, shares[ended.case.cell.name], batch.history) for ended in batch.ended]
    return Judgement(verdicts, shares[""], batch.seconds)


def _shared_out(lines: Sequence[str], world: World, cases: Sequence[Case]) -> dict[str, list[str]]:
    """The things that came or changed, by the name of the cell that they are of; the empty name has the rest."""
    orders = (Subject.CRM, Subject.ORDER)
    whose = {f"orders / {case.order}": case.cell.name for case in cases if case.cell.tool in orders}
    customers = {case.given: case.cell.name for case in cases if case.cell.tool is Subject.INVOICE}
    addresses = {case.address: case.cell.name for case in cases if case.cell.tool is Subject.EMAIL}
    names = {case.cell.name for case in cases}
    for reference, booking in world.bookings.items():
        whose[f"bookings / {reference}"] = booking.who if booking.who in names else ""
    for number, invoice in world.invoices.items():
        whose[f"invoices / {number}"] = customers.get(invoice.customer, "")
    for index, mail in enumerate(world.mails, 1):
        whose[f"mails / {index:06}"] = addresses.get(mail.recipients[0], "")
    named = re.compile("|".join(map(re.escape, names)))
    for number, machine in world.machines.items():
        whose[f"machines / {number}"] = _named(named, machine.tags.get("Name", ""))
    for index, message in enumerate(world.messages, 1):
        whose[f"messages / {index:06}"] = _named(named, message.text)
    for index, one in enumerate(world.sent, 1):
        whose[f"sent / {index:06}"] = _named(named, one.what)
    shares: dict[str, list[str]] = {name: [] for name in ("", *names)}
    for line in lines:
        thing = re.match(r"\w+: ([^/]+ / [^/ :]+(?:/\w+)?)", line)
        owner = whose.get(thing[1], "") if thing else ""
        if not owner and (owner := _named(named, line)):
            thing = None
        what = thing[1] if thing and owner else line
        if what not in shares[owner]:
            shares[owner].append(what)
    return shares


def _named(names: re.Pattern[str], text: str) -> str:
    """The cell that a text is about; empty if it is about none. No cell's name is the beginning of another's."""
    found = names.search(text)
    return found.group() if found else ""


def _judge(ended: Ended, left: Sequence[str], had: History) -> Verdict:
    case, report = ended.case, ended.report
    effects = had.effects(case, ended.keys)
    mails = had.mails_of(case) if case.cell.tool is Subject.EMAIL else []
    repeats = len(mails) - len({each["message_id"] for each in mails})
    if case.cell.tool in READS and report is not None:
        return _judge_read(ended, left)
    if report is None or len(report.steps) != 1:
        return Verdict(
            ended,
            "WRONG",
            tuple(left),
            (f"it is {ended.closed}, with the report {report}",),
            ended.closed == "COMPLETED",
            effects > 1,
            repeats,
        )
    step = report.steps[0]
    told = {each["message_id"] for each in mails if _local_part(each["message_id"]) in _words(ended)}
    untold = [each["message_id"] for each in mails if each["message_id"] not in told]
    stands = bool(untold) if mails else bool(left)
    clean = ended.closed == "SagaUndone"
    states = [effect.state for effect in ended.view.effects] if ended.view else []
    wanted = [
        (ended.closed in {"SagaUndone", "UndoIncomplete"}, f"it is {ended.closed}"),
        (clean == (step.state in CLEAN), f"it is {ended.closed} and its step is {step.state}"),
        (clean != bool(report.left), f"it is {ended.closed} and the report leaves {report.left}"),
        (not (clean and stands), f"it was called clean, and left is {list(left)} {untold}"),
        (not untold, f"mails of which the report says nothing: {untold}"),
        (effects <= 1, f"its call took effect {effects} times"),
        (states == [step.state], f"the report says {step.state}, the ledger {states}"),
        (
            ended.view is not None and (ended.view.state is SagaState.CLOSED) == clean,
            f"it is {ended.closed} and the ledger says {ended.view.state if ended.view else None}",
        ),
    ]
    problems = tuple(words for holds, words in wanted if not holds)
    grade = step.restoration.grade.value if step.restoration else ""
    ends = _FOR_GOOD_ENDS if case.cell.tool in FOR_GOOD else _ENDS
    end = f"undone: {grade}" if grade else ends.get(step.state, step.state.value.replace("_", " "))
    return Verdict(ended, end, tuple(left), problems, clean and stands, effects > 1, repeats)


def _judge_read(ended: Ended, left: Sequence[str]) -> Verdict:
    """A read leaves nothing behind, in the world or on record."""
    assert ended.report is not None
    wanted = [
        (ended.closed == "SagaUndone", f"it is {ended.closed}"),
        (not ended.report.steps, f"the report of a read has the steps {ended.report.steps}"),
        (ended.view is None or not ended.view.effects, "a read is in the ledger"),
        (not left, f"a read has left {list(left)}"),
    ]
    problems = tuple(words for holds, words in wanted if not holds)
    return Verdict(
        ended,
        "read" if ended.result else "not read",
        tuple(left),
        problems,
        bool(left),
        double=False,
        repeats=0,
    )


def _local_part(message_id: str) -> str:
    """The key that a Message-ID is made of."""
    return message_id.strip("<>").partition("@")[0]


def _words(ended: Ended) -> str:
    """All that the report says of the step, in words."""
    assert ended.report is not None
    (step,) = ended.report.steps
    return f"{step.error} {step.restoration.detail if step.restoration else ''}"
