"""Every step meets every trouble: the world is as before or as after the saga, or the report says what is left."""

import sys
from pathlib import Path

import pytest

from tests.matrix.cells import Cell, Step
from tests.matrix.conftest import CELLS
from tests.matrix.run import Outcome
from tests.matrix.table import summary, table

pytestmark = pytest.mark.timeout(1800)

PARAMETERS = [
    pytest.param(cell, id=cell.name, marks=pytest.mark.docker if cell.step is Step.CONTAINER else ())
    for cell in CELLS
]


@pytest.mark.parametrize("cell", PARAMETERS)
def test_a_step_meets_trouble(cell: Cell, matrix: Outcome, engine: tuple[Path | None, str]) -> None:
    """The world, the report and the ledger say the same, and nothing has happened twice."""
    socket, why = engine
    if cell.step is Step.CONTAINER and socket is None:
        pytest.skip(why)
    (verdict,) = [one for one in matrix.verdicts if one.cell == cell]
    assert verdict.problems == (), cell.title


def test_no_false_clean_and_no_double(matrix: Outcome, capsys: pytest.CaptureFixture[str]) -> None:
    """Over all cells nothing is called clean that is not, nothing has happened twice, and nothing strays."""
    with capsys.disabled():
        sys.stdout.write(f"\n{table(matrix.verdicts)}\n{summary(matrix)}\n")
    assert (matrix.false_clean, matrix.doubles, matrix.strays) == (0, 0, [])
