"""Random plans through random faults: nothing is falsely clean, happens twice, or is left without a reconciliation."""

import os
import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import strategies as st

from tests.plan_model.damages import DAMAGES, Damage, damaged
from tests.plan_model.drawn import Drawn, each
from tests.plan_model.run import run_plans
from tests.plan_model.strategies import drawn_plans
from tests.plan_model.verdict import problems

SOAK = os.environ.get("RESCIND_SOAK")
PLANS = int(os.environ.get("RESCIND_MODEL_PLANS") or ("200" if SOAK else "12"))
SEED = int(os.environ.get("RESCIND_SEED", "20261201"))
AT_ONCE = 25
ONE_DAMAGED_OF = 4
"""Of so many plans one more is damaged and started all the same."""


def drawn_and_damaged() -> list[Drawn]:
    """The plans of a run, the same for the same seed; among them damaged ones of every kind in turn."""
    found: list[Drawn] = []

    def take(drawn: tuple[Drawn, random.Random]) -> None:
        plan, chance = drawn
        if len(found) % (ONE_DAMAGED_OF + 1) == ONE_DAMAGED_OF:
            damage = SENDABLE[len(found) // (ONE_DAMAGED_OF + 1) % len(SENDABLE)]
            plan = plan.model_copy(update={"instead": damaged(plan.plan(), damage, chance)})
        found.append(plan)

    drawing = st.tuples(drawn_plans(), st.randoms(use_true_random=False))
    each(drawing, PLANS + PLANS // ONE_DAMAGED_OF, SEED, take)
    return found


SENDABLE: list[Damage] = random.Random(SEED).sample(DAMAGES, len(DAMAGES))
"""The kinds of damage in the order in which they have their turn."""


@pytest.mark.filterwarnings("ignore:Cannot find activity to cancel:UserWarning")
@pytest.mark.timeout(300 + 20 * PLANS)
async def test_random_plans(
    stack_environment: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """World, report, ledger and reconciliations say the same of every one; the numbers and the seed are printed."""
    drawn = drawn_and_damaged()
    wrong: dict[str, list[str]] = {}
    ends, met, steps = Counter[str](), Counter[str](), 0
    for start in range(0, len(drawn), AT_ONCE):
        folder = tmp_path / str(start)
        folder.mkdir()
        batch = await run_plans(drawn[start : start + AT_ONCE], stack_environment, folder)
        found = {ended.started.drawn.model_dump_json(): problems(ended) for ended in batch.ended}
        wrong |= {plan: each for plan, each in found.items() if each}
        if batch.strays:
            wrong[f"of no plan of those from {start} on"] = [
                f"{each.sign}{each.place}" for each in batch.strays
            ]
        ends.update(ended.closed for ended in batch.ended)
        steps += sum(len(plan.steps) for plan in drawn[start : start + AT_ONCE])
        met += batch.met
        with capsys.disabled():
            told = (
                f"seed {SEED}: {ends.total()} plans of {steps} steps: {dict(ends)}; faults met: {dict(met)}"
            )
            print(f"\n{told}; {len(wrong)} wrong", flush=True)  # noqa: T201  (a long run is watched)
        if wrong:
            break
    assert wrong == {}
