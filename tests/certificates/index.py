"""The page that lists the certificates."""

from pathlib import Path

from rescind.testing import Certificate, CertifiedGrade, read_certificates
from rescind.testing._certificate import cell

_BEGINNING = """# Certificates

Every tool of this application is tried against the [laws](../testing-your-tools.md) on the stand-ins, in the way in
which a worker runs it: with its real wrappers, a real ledger, and crashes between every two steps. These pages say what
was seen. `python -m tests.certificates` makes them anew, and a test compares them with what is seen now.

"""


def index(folder: Path) -> str:
    """The page for the certificates of a folder."""
    grades = "".join(f"- **{grade.value}**: {grade.sentence}\n" for grade in CertifiedGrade)
    rows = "".join(_row(each) for each in read_certificates(folder))
    return f"{_BEGINNING}{grades}\n| tool | case | grade | left |\n|---|---|---|---|\n{rows}"


def _row(each: Certificate) -> str:
    name = f"[{each.tool}]({each.file_name}.md)"
    return f"| {name} | {each.case} | {each.grade.value} | {cell(each.left or '')} |\n"
