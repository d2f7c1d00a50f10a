"""The reference model finds what it is there to find."""

import pytest

from rescind import RecordState
from rescind.ledger import EffectView
from tests.model.programs import Make
from tests.model.world import ModelWorld


def row(state: RecordState) -> EffectView:
    """The ledger's row of the step `s0`."""
    return EffectView(
        key="k",
        seq=(1,),
        tool="toy.make_thing",
        version=1,
        repeat=None,
        digest="",
        request={"name": "s0"},
        state=state,
        fenced=False,
        attempt=1,
        unproven=(),
        before=None,
        result=None,
        changed=True,
        found=False,
        undo_try=0,
        dirty=False,
        restoration=None,
        error=None,
    )


@pytest.mark.parametrize(
    ("makes", "thing", "state", "committed", "said"),
    [
        (1, "key", RecordState.APPLIED, True, []),
        (1, None, RecordState.UNDONE, False, []),
        (1, "key", RecordState.RESOLVED, False, []),
        (1, "key", RecordState.ABSENT, False, ["s0 stands, and the ledger has it as absent"]),
        (1, "key", RecordState.UNDONE, True, ["s0 stands, and the ledger has it as undone"]),
        (2, "key", RecordState.APPLIED, True, ["s0 was done 2 times"]),
        (1, None, RecordState.APPLIED, True, ["s0 is committed, and not there"]),
        (1, "key", RecordState.APPLIED, False, ["s0 is applied in a saga that is closed"]),
        (1, None, RecordState.STUCK, True, ["s0 is stuck in a committed saga"]),
    ],
)
def test_one_step(
    makes: int, thing: str | None, state: RecordState, committed: bool, said: list[str]
) -> None:
    """Right ends are silent, and each wrong one is named."""
    world = ModelWorld(things={} if thing is None else {"s0": thing})
    world.makes["s0"] = makes
    assert (
        list(world.wrong([Make(tool="toy.make_thing", name="s0")], [row(state)], committed=committed)) == said
    )


def test_other_peoples_things() -> None:
    """What was there before or was taken over is missed when it is gone."""
    world = ModelWorld(stolen={"s1"})
    steps = [
        Make(tool="toy.make_thing", name="s0", there="wanted"),
        Make(tool="toy.make_thing", name="s1", stolen=True),
    ]
    assert list(world.wrong(steps, [], committed=False)) == [
        "s0 was there before, and is None now",
        "s1 was somebody else's, and is None now",
    ]
