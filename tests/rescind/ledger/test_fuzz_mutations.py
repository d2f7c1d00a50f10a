"""The fuzzer finds each rule of the protocol that is taken out; all of them in a long run, else the first five."""

import os

import pytest

from rescind.ledger import Ledger
from tests.rescind.ledger.fuzz.check import fuzz
from tests.rescind.ledger.fuzz.rules import Rule

RULES: dict[str, Rule] = {
    "a refusal after an unproven attempt is taken as absent": (
        "forward.sql",
        "    if become.unproven = '{}' then\n        become.landing",
        "    if final or become.unproven = '{}' then\n        become.landing",
    ),
    "the lookup is believed while an attempt is in flight": (
        "forward.sql",
        "if was.landing > clock_timestamp() then",
        "if false then",
    ),
    "a call is sent again with neither lookup nor key": (
        "forward.sql",
        "if was.repeat = 'never' then",
        "if false then",
    ),
    "a lookup is not asked for": ("forward.sql", "ask := true;", "ask := false;"),
    "absent is believed before the landing": (
        "settle.sql",
        "verdict = 'absent' and was.landing > clock_timestamp()",
        "false",
    ),
    "a stray report reopens nothing": (
        "journal.sql",
        "when 'closed' then become.state in ('applied', 'in_doubt')",
        "when 'closed' then false",
    ),
    "the second attempt's picture replaces the first one's": (
        "forward.sql",
        "if was.before is null or was.unproven = array[attempt_n] then",
        "if true then",
    ),
    "a seal does not look at what is unsettled": (
        "saga.sql",
        "where saga = saga_id and (dirty or state in ('intended', 'undoing', 'stuck', 'in_doubt'))",
        "where false",
    ),
    "an undo may be followed by a begin": ("forward.sql", "if this.state <> 'open' then", "if false then"),
}


LONG = int(os.environ.get("RESCIND_FUZZ_SAGAS", "0")) >= 1000


@pytest.mark.timeout(600)
@pytest.mark.parametrize("broken", list(RULES)[: None if LONG else 5], indirect=True)
async def test_rule_that_is_taken_out(broken: Ledger) -> None:
    """Within a few hundred sagas one is reported clean while an effect stands, or happens twice unseen.

    On a machine that is busy fewer attempts overlap, so that it may take some thousand.
    """
    for seed in range(60):
        findings = await fuzz(broken, seed=seed, sagas=60, deadlines_kept=seed % 2 == 0, stop_at_first=True)
        if findings.bad:
            return
    pytest.fail("the fuzzer did not find it")
