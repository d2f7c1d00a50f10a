"""An honest tool keeps every law, and a tool that lies about one law breaks that one and no other."""

from pathlib import Path
from typing import Any

import pytest

from rescind.testing import Certificate, CertifiedGrade, Law, Verdict, check_tool
from tests.rescind.testing.notes import (
    PUT_NOTE,
    PUT_NOTE_BLIND,
    PUT_NOTE_DEDUPLICATED,
    READ_NOTE,
    SHOUT_NOTE,
    Notes,
    PutNote,
)

NEEDS_KEYS = {Law.ONE_EFFECT, Law.CRASH_AFTER}
"""These lies are only told where the lookup is not asked before a second attempt."""


async def check(tool: Any, folder: Path, ledger: str, lie: str = "") -> Certificate:
    return await check_tool(tool, PutNote(folder=str(folder), lie=lie), Notes(folder), ledger=ledger)


def verdicts(certificate: Certificate, verdict: Verdict) -> list[Law]:
    return [each.law for each in certificate.laws if each.verdict is verdict]


@pytest.mark.parametrize("tool", [PUT_NOTE, PUT_NOTE_DEDUPLICATED], ids=["looked up", "deduplicated"])
async def test_an_honest_tool(tool: Any, tmp_path: Path, test_ledger: str) -> None:
    """It keeps all laws, and its grade is that of its undo."""
    certificate = await check(tool, tmp_path, test_ledger)
    assert certificate.failed == ()
    assert verdicts(certificate, Verdict.NOT_APPLICABLE) == [Law.READ_ONLY]
    assert certificate.grade is CertifiedGrade.EXACT
    assert certificate.require() is certificate


@pytest.mark.parametrize("lie", [law for law in Law if law is not Law.READ_ONLY])
async def test_a_lie_about_one_law(lie: Law, tmp_path: Path, test_ledger: str) -> None:
    """Exactly that law fails, and nothing is promised of the undo."""
    tool = PUT_NOTE_DEDUPLICATED if lie in NEEDS_KEYS else PUT_NOTE
    certificate = await check(tool, tmp_path, test_ledger, lie.value)
    assert verdicts(certificate, Verdict.FAILED) == [lie], certificate.as_markdown()
    assert certificate.grade is CertifiedGrade.UNVERIFIED


async def test_a_tool_that_can_not_be_asked(tmp_path: Path, test_ledger: str) -> None:
    """It is never called twice, and what it did before a crash is in doubt; its undo is as good as another."""
    certificate = await check(PUT_NOTE_BLIND, tmp_path, test_ledger)
    assert certificate.failed == ()
    assert verdicts(certificate, Verdict.NOT_APPLICABLE) == [Law.FOUND, Law.READ_ONLY]
    said = {each.law: each.why for each in certificate.laws}
    assert said[Law.ONE_EFFECT] == "The second attempt was refused: it is never called twice."
    assert said[Law.CRASH_AFTER].startswith("It is in doubt, since it has no lookup")
    assert certificate.grade is CertifiedGrade.EXACT


async def test_an_irreversible_tool(tmp_path: Path, test_ledger: str) -> None:
    """Nothing is promised of an undo that it does not have; the laws about doing hold."""
    certificate = await check(SHOUT_NOTE, tmp_path, test_ledger)
    assert certificate.failed == ()
    assert certificate.grade is CertifiedGrade.UNVERIFIED
    assert verdicts(certificate, Verdict.PASSED) == [Law.ONE_EFFECT, Law.CRASH_BEFORE, Law.CRASH_AFTER]
    assert certificate.laws[0].why == "It has no undo."


@pytest.mark.parametrize(("lie", "failed"), [("", []), (Law.READ_ONLY.value, [Law.READ_ONLY])])
async def test_a_tool_that_only_reads(lie: str, failed: list[Law], tmp_path: Path, test_ledger: str) -> None:
    """One law is about it: it changes nothing."""
    certificate = await check(READ_NOTE, tmp_path, test_ledger, lie)
    assert verdicts(certificate, Verdict.FAILED) == failed
    assert len(verdicts(certificate, Verdict.NOT_APPLICABLE)) == len(Law) - 1
