"""What is kept in docs/certificates is what is seen of the tools now."""

from pathlib import Path

import pytest

from activities.catalogue import CATALOGUE
from rescind.testing import Certificate, CertifiedGrade, certified_grades, read_certificates
from tests.certificates.cases import CONTAINER, ENGINE
from tests.certificates.index import index
from tests.certificates.making import FOLDER, make

pytestmark = pytest.mark.timeout(900)  # all checks are made before the first test

KEPT = {each.file_name: each for each in read_certificates(FOLDER)}


@pytest.fixture(scope="module")
async def made(stack_environment: dict[str, str]) -> dict[str, Certificate]:
    """The certificates as they come out now."""
    return {each.file_name: each for each in await make(stack_environment)}


@pytest.mark.parametrize("name", KEPT)
async def test_a_certificate_is_as_kept(
    name: str, made: dict[str, Certificate], stack_environment: dict[str, str]
) -> None:
    """What is seen now is what the page says; `python -m tests.certificates` makes the pages anew."""
    if name.startswith(CONTAINER) and ENGINE not in stack_environment:
        pytest.skip("needs a Docker engine")
    assert made[name].as_json() == KEPT[name].as_json()


async def test_nothing_is_missing(made: dict[str, Certificate]) -> None:
    """Every check has a certificate that is kept, and every tool of the catalogue has one."""
    assert made.keys() - KEPT.keys() == set()
    assert {each.tool for each in KEPT.values()} == {tool.name for tool in CATALOGUE}


def test_the_pages_say_what_the_files_say() -> None:
    """Markdown and JSON are of one certificate, and the index lists them all."""
    for name, each in KEPT.items():
        assert (FOLDER / f"{name}.md").read_text(encoding="utf-8") == each.as_markdown()
    assert (FOLDER / "README.md").read_text(encoding="utf-8") == index(FOLDER)
    files = {path.stem for path in Path(FOLDER).iterdir()} - {"README"}
    assert files == set(KEPT)


def test_the_catalogue_s_grades() -> None:
    """Every law is kept; only what has no undo is unverified, and of several cases the worst counts."""
    assert [each.failed for each in KEPT.values() if each.failed] == []
    grades = certified_grades(list(KEPT.values()))
    unverified = {name for name, grade in grades.items() if grade is CertifiedGrade.UNVERIFIED}
    assert unverified == {tool.name for tool in CATALOGUE if not tool.is_reversible}
    assert grades["flights.book"] is CertifiedGrade.RESIDUE
