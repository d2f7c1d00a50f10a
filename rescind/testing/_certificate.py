"""The outcome of a check, to be kept beside the tool: as JSON for programs, as Markdown for people."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict

from rescind._errors import RescindError
from rescind.testing._laws import LawOutcome, Verdict


class CertifiedGrade(StrEnum):
    """How well the undo was seen to restore the world, the best first."""

    EXACT = "exact"
    EQUIVALENT = "equivalent"
    RESIDUE = "residue"
    UNVERIFIED = "unverified"

    @property
    def sentence(self) -> str:
        """What the grade says."""
        return _SENTENCES[self]


_SENTENCES = {
    CertifiedGrade.EXACT: "After the undo the world was equal to what it was before.",
    CertifiedGrade.EQUIVALENT: "After the undo the world meant the same as before; nobody depends on what differed.",
    CertifiedGrade.RESIDUE: "The undo takes back what can be taken back, and says what is left.",
    CertifiedGrade.UNVERIFIED: "Nothing is promised of an undo.",
}


class LawsBroken(RescindError, AssertionError):
    """A tool does not keep a law. `certificate` has all of them."""

    def __init__(self, certificate: Certificate) -> None:
        listed = "\n".join(f"  - {each.law.sentence}\n    {each.why}" for each in certificate.failed)
        super().__init__(
            f"the tool {certificate.tool!r} breaks {len(certificate.failed)} law(s):\n{listed}\n"
            "Whatever the check left stands in the world that it was given. Mend the tool, and check it again"
        )
        self.certificate = certificate


class Certificate(BaseModel):
    """What a check has shown of a tool. Two checks of one tool in one world give equal certificates.

    Attributes:
        tool: The tool's name.
        version: Its schema version.
        description: Its description.
        case: In which case it was checked, where it has several; may be empty.
        compared: What the world's snapshots hold.
        grade: How well the undo restores; `unverified` unless every law that applies was kept.
        left: What the undo says is different or left; None where it is exact, or nothing is known.
        laws: What became of each law.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool: str
    version: int
    description: str
    case: str = ""
    compared: str
    grade: CertifiedGrade
    left: str | None = None
    laws: tuple[LawOutcome, ...]

    @property
    def failed(self) -> tuple[LawOutcome, ...]:
        """The laws that the tool does not keep."""
        return tuple(each for each in self.laws if each.verdict is Verdict.FAILED)

    def require(self) -> Self:
        """Answer with the certificate itself.

        Raises:
            LawsBroken: The tool does not keep a law.
        """
        if self.failed:
            raise LawsBroken(self)
        return self

    @property
    def file_name(self) -> str:
        """Under which name it is kept, without an extension."""
        return "-".join([self.tool, *self.case.split()])

    def as_json(self) -> str:
        """The certificate as JSON, to be kept in a repository."""
        return self.model_dump_json(indent=2) + "\n"

    def as_markdown(self) -> str:
        """The certificate as a page for people."""
        rows = [f"| {each.law.sentence} | {each.verdict.value} | {cell(each.why)} |" for each in self.laws]
        left = [f"Left: {cell(self.left)}.", ""] if self.left else []
        return "\n".join(
            [
                f"# {self.tool}{f', {self.case}' if self.case else ''}",
                "",
                self.description,
                "",
                f"**{self.grade.value}.** {self.grade.sentence}",
                "",
                *left,
                f"Compared: {self.compared}. Schema version {self.version}.",
                "",
                "| law | | what was seen |",
                "|---|---|---|",
                *rows,
                "",
            ]
        )

    def write(self, folder: Path) -> None:
        """Put both forms into a folder, over older ones."""
        (folder / f"{self.file_name}.json").write_text(self.as_json(), encoding="utf-8")
        (folder / f"{self.file_name}.md").write_text(self.as_markdown(), encoding="utf-8")


def read_certificates(folder: Path) -> list[Certificate]:
    """The certificates that a folder holds, by file name.

    Raises:
        pydantic.ValidationError: A JSON file in it is no certificate.
    """
    files = sorted(folder.glob("*.json"))
    return [Certificate.model_validate_json(file.read_text(encoding="utf-8")) for file in files]


def certified_grades(certificates: list[Certificate]) -> Mapping[str, CertifiedGrade]:
    """The grade of each tool by its name; of several cases the worst."""
    order = list(CertifiedGrade)
    worst: dict[str, CertifiedGrade] = {}
    for each in certificates:
        known = worst.get(each.tool, CertifiedGrade.EXACT)
        worst[each.tool] = max(known, each.grade, key=order.index)
    return worst


def cell(text: str) -> str:
    """Text that stays as it is in a cell of a Markdown table."""
    return text.replace("|", "\\|").replace("<", "\\<").replace("\n", " ")
