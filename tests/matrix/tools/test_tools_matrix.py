"""Every tool meets every fault on the call and on the undo: what is left is what the reports say."""

import os
import sys
from pathlib import Path

import pytest

from tests.matrix.tools.bench import run_cells
from tests.matrix.tools.cells import ordinary, soak, troubles
from tests.matrix.tools.subjects import Side, Subject
from tests.matrix.tools.table import summary, tables
from tests.matrix.tools.verdict import Judgement, judge_all

pytestmark = [
    pytest.mark.timeout(3600),
    # The SDK says so of an activity that has timed out and reported in the same moment.
    pytest.mark.filterwarnings("ignore:Cannot find activity to cancel:UserWarning"),
]


@pytest.fixture(scope="module")
async def judged(stack_environment: dict[str, str], engine: tuple[Path | None, str]) -> Judgement:
    """The whole matrix, run once; without an engine it has no cells of containers."""
    socket, _ = engine
    cells = (soak if os.environ.get("RESCIND_SOAK") else ordinary)(engine=socket is not None)
    return judge_all(await run_cells(cells, stack_environment, socket))


def test_no_false_clean_and_no_double(judged: Judgement, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is called clean that is not, nothing has happened twice, and nothing strays."""
    with capsys.disabled():
        sys.stdout.write(f"\n{tables(judged.verdicts)}\n\n{summary(judged)}, in {judged.seconds:.0f} s\n")
    assert judged.problems == []
    assert (judged.false_clean, judged.doubles) == (0, 0)


@pytest.mark.parametrize("side", Side)
@pytest.mark.parametrize("tool", Subject)
def test_every_fault_is_met(
    judged: Judgement, engine: tuple[Path | None, str], tool: Subject, side: Side
) -> None:
    """No fault of this side was only planned: each was met at least once."""
    socket, why_none = engine
    if tool is Subject.CONTAINER and socket is None:
        pytest.skip(why_none)
    met = {
        one.ended.case.cell.trouble(side)
        for one in judged.verdicts
        if one.ended.case.cell.tool is tool and side in one.ended.met
    }
    assert [trouble.words for trouble in troubles(tool, side) if trouble.fault and trouble not in met] == []
