"""Approvals under random interleavings; RESCIND_FUZZ_SAGAS sets how many, RESCIND_FUZZ_SEED which."""

import logging
import os

import pytest

from rescind.ledger import Ledger
from tests.rescind.ledger.fuzz.gates import fuzz_gates
from tests.rescind.ledger.fuzz.rules import Rule

SAGAS = int(os.environ.get("RESCIND_FUZZ_SAGAS", "120"))
SEED = int(os.environ.get("RESCIND_FUZZ_SEED", "1"))
LONG = SAGAS >= 1000
MUST_HAPPEN = {"called", "approve", "reject", "approved in vain", "approved anew", "cancelled"}
RULES: dict[str, Rule] = {
    "an approval is used up": (
        "gates.sql",
        "update gate set state = 'used', run = begun_run where key = effect_key;",
        "",
    ),
    "two people are two": ("gates.sql", "lower(trim(g ->> 'who')) = lower(trim(who))", "false"),
    "a rejection stands": (
        "gates.sql",
        "elsif was.state <> 'waiting' then",
        "elsif was.state not in ('waiting', 'rejected') then",
    ),
    "a question is for one request": (
        "gates.sql",
        "was.digest is distinct from begun_digest",
        "was.key is null",
    ),
    "an approval is one run's": (
        "gates.sql",
        "was.state = 'used' and was.run = begun_run",
        "was.state = 'used'",
    ),
    "it takes so many people": ("gates.sql", "jsonb_array_length(become.given) >= was.people", "true"),
    "a question is answered in time": (
        "gates.sql",
        "is_late(was) or was.state = 'expired' then",
        "false then",
    ),
    "a word is for what was seen": ("gates.sql", "or was.digest <> seen_digest or", "or"),
    "a word is on one question": ("gates.sql", "or word = any (was.past) then", "then"),
    "an approval lasts for so long": (
        "gates.sql",
        "was.state <> 'granted' or is_late(was) then",
        "was.state <> 'granted' then",
    ),
    "people are asked": ("forward.sql", "if approved is null then", "if false then"),
}


@pytest.mark.timeout(60 + SAGAS)
async def test_random_interleavings_at_a_gate(ledger: Ledger) -> None:
    """Nothing is called without enough valid approvals of that request, no approval opens two, a rejection stands."""
    findings = await fuzz_gates(ledger, seed=SEED, sagas=SAGAS)
    logging.getLogger(__name__).info("%s", dict(sorted(findings.ended.items())))
    assert findings.bad == []
    assert MUST_HAPPEN - set(findings.ended) == set()


@pytest.mark.timeout(180)
@pytest.mark.parametrize("broken", list(RULES)[: None if LONG else 4], indirect=True)
async def test_a_rule_that_is_taken_out(broken: Ledger) -> None:
    """Within some hundred sagas something is called that nobody has approved."""
    for seed in range(20):
        findings = await fuzz_gates(broken, seed=seed, sagas=60, stop_at_first=True)
        if findings.bad:
            return
    pytest.fail("the fuzzer did not find it")
