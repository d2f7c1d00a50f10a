"""Reads the code blocks of a page: those that make up files, and those that quote the source."""

import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
_FILE = re.compile(r"<!-- file: (?P<name>\S+) -->\n```python\n(?P<code>.*?)```", re.DOTALL)
_QUOTED = re.compile(r"<!-- quoted: (?P<name>\S+) -->\n```python\n(?P<code>.*?)```", re.DOTALL)
_BLOCK = re.compile(r"^```python\n", re.MULTILINE)


def text(page: str) -> str:
    """A page, by its path from the root."""
    return (ROOT / page).read_text(encoding="utf-8")


def write_files(page: str, folder: Path) -> None:
    """Put the files that a page tells to make into a folder."""
    files: defaultdict[str, str] = defaultdict(str)
    for block in _FILE.finditer(text(page)):
        files[block["name"]] += block["code"] + "\n\n"
    for name, code in files.items():
        (folder / name).write_text(code, encoding="utf-8")


def quotations(page: str) -> list[tuple[str, str]]:
    """The source files that a page quotes, each with the quotation."""
    return [(block["name"], block["code"]) for block in _QUOTED.finditer(text(page))]


def unaccounted(page: str) -> int:
    """How many Python blocks of a page are neither part of a file nor a quotation."""
    found = text(page)
    return len(_BLOCK.findall(found)) - len(_FILE.findall(found)) - len(_QUOTED.findall(found))
