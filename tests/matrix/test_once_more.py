"""A cell that did not meet its trouble is judged by its second run; one with anything else against it is not."""

from dataclasses import replace

from tests.matrix.bench import Ended
from tests.matrix.cells import Cell, Step, Trouble
from tests.matrix.run import Outcome, benches, with_second
from tests.matrix.verdict import Verdict

CELL = Cell(Step.BUCKET, Trouble.STOPPED)


def verdict(cell: Cell, *problems: str, missed: bool = False) -> Verdict:
    """What became of a cell."""
    ended = Ended(cell, "COMPLETED", trouble="it was not met" if missed else "", missed=missed)
    return Verdict(ended, "as after", problems, false_clean=len(problems) > 1, double=False)


def test_a_trouble_that_was_not_met() -> None:
    """The second run takes the place of the first, under the first one's name, and what strays of both is kept."""
    again = replace(CELL, run="m-again")
    second = Outcome([verdict(again)], ["a stray"])
    both = with_second(Outcome([verdict(CELL, "it was not met", missed=True)], []), second)
    assert [(one.cell, one.problems) for one in both.verdicts] == [(CELL, ())]
    assert both.strays == ["a stray"]


def test_more_than_a_trouble_that_was_not_met() -> None:
    """What was left or called clean wrongly is not forgiven."""
    wrong = verdict(CELL, "it was not met", "a bucket is left", missed=True)
    assert not wrong.only_missed
    assert with_second(Outcome([wrong], []), Outcome([], [])).false_clean == 1


def test_once_more_by_itself() -> None:
    """No other cell is on its worker then."""
    cells = [CELL, Cell(Step.BRANCH, Trouble.STOPPED)]
    assert benches(cells) == [cells]
    assert benches(cells, 1) == [[cell] for cell in cells]
