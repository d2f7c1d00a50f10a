"""What a run hands on tells exactly which steps stand."""

from hypothesis import given
from hypothesis import strategies as st

from rescind import Record, RecordState
from rescind._carried import Carried

KINDS = {
    "stands": (RecordState.APPLIED, True),
    "idle": (RecordState.APPLIED, False),
    "absent": (RecordState.ABSENT, True),
    "undone": (RecordState.UNDONE, True),
    "read": None,
}

RUNS = st.lists(
    st.lists(st.tuples(st.sampled_from("xy"), st.sampled_from(list(KINDS))), max_size=8), max_size=5
)


@given(RUNS)
def test_any_steps_over_any_runs(runs: list[list[tuple[str, str]]]) -> None:
    """The steps that stand, and those of them that changed something, are what they were, run after run."""
    carried, numbers = Carried(), {"x": 0, "y": 0}
    standing: set[str] = set()
    changes: set[str] = set()
    for run in runs:
        records: list[Record] = []
        for name, kind in run:
            numbers[name] += 1
            step = f"{name}#{numbers[name]}"
            if known := KINDS[kind]:
                state, changed = known
                records.append(
                    Record(step=step, seq=(1,), tool="t", summary="s", state=state, changed=changed)
                )
            standing |= {step} if kind in ("stands", "idle") else set()
            changes |= {step} if kind == "stands" else set()
        carried = Carried.model_validate_json(carried.and_then(numbers, records).payload().data)
    assert set(carried.standing()) == standing
    assert carried.changes() == changes


def test_ten_thousand_steps_of_one_name() -> None:
    """They take as many bytes as one, apart from the digits."""
    records = [
        Record(step=f"x#{n}", seq=(n,), tool="t", summary="s", state=RecordState.APPLIED)
        for n in range(1, 10_001)
    ]
    assert (
        Carried().and_then({"x": 10_000}, records).payload().data == b'{"steps":10000,"numbers":{"x":10000}}'
    )
