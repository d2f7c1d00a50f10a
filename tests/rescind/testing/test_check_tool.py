"""What a check needs of the world and of the ledger, and what it says of them."""

import uuid
from pathlib import Path
from typing import Any

import psycopg
import pytest

from rescind import Grade
from rescind.ledger import install
from rescind.testing import (
    Certificate,
    CertifiedGrade,
    Law,
    LawsBroken,
    NoTestLedger,
    Verdict,
    check_tool,
)
from tests.rescind.testing.graded_notes import GRADED_NOTE, GradedNote, PutGradedNote
from tests.rescind.testing.notes import PUT_NOTE, Notes, PutNote


class OnlySeen:
    """The names of the folder's files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def snapshot(self) -> list[str]:
        return sorted(file.name for file in self.folder.iterdir())


class Blinkered:
    """A world that does not look."""

    async def snapshot(self) -> int:
        return 0


def why(certificate: Certificate, law: Law) -> str:
    return next(each.why for each in certificate.laws if each.law is law)


async def test_a_world_that_is_only_looked_at(tmp_path: Path, test_ledger: str) -> None:
    """What somebody else would have to do is not applicable, the rest holds, and nothing stands afterwards."""
    certificate = await check_tool(
        PUT_NOTE, PutNote(folder=str(tmp_path)), OnlySeen(tmp_path), ledger=test_ledger
    )
    assert certificate.failed == ()
    away = [each.law for each in certificate.laws if each.verdict is Verdict.NOT_APPLICABLE]
    assert away == [Law.CONFLICT, Law.NO_OP, Law.READ_ONLY]
    assert certificate.compared == "The names of the folder's files"
    assert await OnlySeen(tmp_path).snapshot() == []


async def test_a_snapshot_that_does_not_hold_what_the_tool_changes(tmp_path: Path, test_ledger: str) -> None:
    """It proves nothing, and the check says so instead of passing."""
    certificate = await check_tool(PUT_NOTE, PutNote(folder=str(tmp_path)), Blinkered(), ledger=test_ledger)
    assert certificate.grade is CertifiedGrade.UNVERIFIED
    assert "the snapshot does not hold what the tool changes" in why(certificate, Law.RESTORED)


async def test_a_request_that_is_refused(tmp_path: Path, test_ledger: str) -> None:
    """The tool's own words are in the certificate, and in the error of `require`."""
    (tmp_path / "note").write_text("somebody\nsell milk")
    certificate = await check_tool(
        PUT_NOTE, PutNote(folder=str(tmp_path)), OnlySeen(tmp_path), ledger=test_ledger
    )
    assert why(certificate, Law.RESTORED) == (
        "the call did not take effect: it is absent, there is another note of this name"
    )
    with pytest.raises(LawsBroken, match="there is another note of this name"):
        certificate.require()


async def test_a_request_that_is_made_anew(tmp_path: Path, test_ledger: str) -> None:
    """A function is asked for a request before each call."""
    made: list[PutNote] = []

    def request() -> PutNote:
        made.append(PutNote(folder=str(tmp_path)))
        return made[-1]

    certificate = await check_tool(PUT_NOTE, request, Notes(tmp_path), ledger=test_ledger)
    assert certificate.failed == ()
    assert len(made) > len(Law)


async def test_two_checks_of_one_tool(tmp_path: Path, test_ledger: str) -> None:
    """They give the same certificate, letter by letter, and it can be read again."""
    given: Any = (PUT_NOTE, PutNote(folder=str(tmp_path)), Notes(tmp_path))
    first, second = [await check_tool(*given, ledger=test_ledger) for _ in range(2)]
    assert first.as_json() == second.as_json()
    assert first.as_markdown() == second.as_markdown()
    assert Certificate.model_validate_json(first.as_json()) == first


async def test_no_ledger_is_given(tmp_path: Path) -> None:
    """A server is started for the check, and is gone after it."""
    certificate = await check_tool(PUT_NOTE, PutNote(folder=str(tmp_path)), Notes(tmp_path))
    assert certificate.grade is CertifiedGrade.EXACT


async def test_a_role_that_may_not_move_the_time_on(tmp_path: Path, test_ledger: str) -> None:
    """The check ends with what is needed; nothing is certified."""
    name = f"worker_{uuid.uuid4().hex}"
    install(test_ledger, workers=[name])
    with psycopg.connect(test_ledger, autocommit=True) as admin:
        admin.execute(f"alter role {name} createrole".encode())
        admin.execute(f"grant rescind_owner to {name} with inherit false, set true".encode())
        admin.execute(f"grant create on database postgres to {name}".encode())
    role = test_ledger.replace("postgres@", f"{name}@")
    with pytest.raises(NoTestLedger, match="an administrator's connection string"):
        await check_tool(PUT_NOTE, PutNote(folder=str(tmp_path)), Notes(tmp_path), ledger=role)


@pytest.mark.parametrize("grade", [Grade.EXACT, Grade.EQUIVALENT, Grade.RESIDUE])
async def test_a_grade_that_is_true(grade: Grade, tmp_path: Path, test_ledger: str) -> None:
    """The certificate has the grade, and what is left without the names that differ from run to run."""
    request = PutGradedNote(folder=str(tmp_path), leaves=grade.value, says=grade.value)
    certificate = await check_tool(GRADED_NOTE, request, GradedNote(tmp_path), ledger=test_ledger)
    assert certificate.failed == ()
    assert certificate.grade.value == grade.value
    assert certificate.left == (None if grade is Grade.EXACT else "a file of KEY for REFERENCE")


@pytest.mark.parametrize(
    ("leaves", "says"),
    [
        (Grade.EQUIVALENT, Grade.EXACT),
        (Grade.RESIDUE, Grade.EXACT),
        (Grade.RESIDUE, Grade.EQUIVALENT),
        (Grade.EXACT, Grade.RESIDUE),
        (Grade.EXACT, Grade.NOTHING),
    ],
)
async def test_a_grade_that_is_not_true(leaves: Grade, says: Grade, tmp_path: Path, test_ledger: str) -> None:
    """The law is broken, also by a tool that is too modest."""
    request = PutGradedNote(folder=str(tmp_path), leaves=leaves.value, says=says.value)
    certificate = await check_tool(GRADED_NOTE, request, GradedNote(tmp_path), ledger=test_ledger)
    assert Law.RESTORED in [each.law for each in certificate.failed]
    assert certificate.grade is CertifiedGrade.UNVERIFIED


async def test_equivalent_in_a_world_without_a_meaning(tmp_path: Path, test_ledger: str) -> None:
    """What nobody depends on can't be told, and the check says what is missing."""
    request = PutGradedNote(folder=str(tmp_path), leaves="equivalent", says="equivalent")
    certificate = await check_tool(GRADED_NOTE, request, OnlySeen(tmp_path), ledger=test_ledger)
    assert "give it a `meaning(snapshot)`" in why(certificate, Law.RESTORED)
