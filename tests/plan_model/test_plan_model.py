"""Random plans through random faults: none is falsely clean, none happens twice, none is left without a reconciliation."""

import os
from pathlib import Path

import pytest

from tests.plan_model.drawn import Drawn, each
from tests.plan_model.run import run_plans
from tests.plan_model.strategies import drawn_plans
from tests.plan_model.verdict import problems

SOAK = os.environ.get("RESCIND_SOAK")
PLANS = int(os.environ.get("RESCIND_MODEL_PLANS") or ("200" if SOAK else "12"))
SEED = int(os.environ.get("RESCIND_SEED", "20261201"))
AT_ONCE = 25


@pytest.mark.filterwarnings("ignore:Cannot find activity to cancel:UserWarning")
@pytest.mark.timeout(300 + 20 * PLANS)
async def test_random_plans(
    stack_environment: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn: list[Drawn] = []
    kinds = os.environ.get('KINDS'); each(drawn_plans(kinds.split(',')) if kinds else drawn_plans(), PLANS, SEED, drawn.append)
    wrong: dict[str, list[str]] = {}
    for start in range(0, len(drawn), AT_ONCE):
        folder = tmp_path / str(start)
        folder.mkdir()
        batch = await run_plans(drawn[start : start + AT_ONCE], stack_environment, folder)
        for ended in batch.ended:
            if found := problems(ended):
                wrong[ended.started.drawn.model_dump_json()] = [ended.closed, *found]
        with capsys.disabled():
            import collections
            print(collections.Counter(e.closed for e in batch.ended), flush=True)
            for c in batch.strays: print("STRAY", c)
            for d,w in wrong.items(): print("WRONG", d); [print("    ", x) for x in w]
    assert wrong == {}
