"""The protocol under random interleavings; RESCIND_FUZZ_SAGAS sets how many, RESCIND_FUZZ_SEED which."""

import logging
import os

import pytest

from rescind.ledger import Ledger
from tests.rescind.ledger.fuzz.check import fuzz

SAGAS = int(os.environ.get("RESCIND_FUZZ_SAGAS", "120"))
SEED = int(os.environ.get("RESCIND_FUZZ_SEED", "1"))


@pytest.mark.timeout(60 + SAGAS)
@pytest.mark.parametrize("deadlines_kept", [True, False])
async def test_random_interleavings(ledger: Ledger, deadlines_kept: bool) -> None:
    """No saga is reported clean while an effect stands, and none happens twice unseen."""
    findings = await fuzz(ledger, seed=SEED, sagas=SAGAS, deadlines_kept=deadlines_kept)
    logging.getLogger(__name__).info("%s", dict(sorted(findings.ended.items())))
    assert findings.bad == []
