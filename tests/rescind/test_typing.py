"""The contract's mistakes as type errors: mypy strict and pyright strict find exactly those that are marked."""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GOOD, BAD = ROOT / "tests/typing/good.py", ROOT / "tests/typing/bad.py"
Errors = Callable[[Path, Path], set[int]]
MARK = re.compile(r"# E: ([a-z,]+)$")


def _run(*command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False, timeout=110
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def _mypy(file: Path, _: Path) -> set[int]:
    """The lines of a file on which mypy reports an error."""
    told = _run("mypy", "--strict", "--no-error-summary", "--output=json", str(file))
    errors = [json.loads(line) for line in told.splitlines()]
    return {each["line"] for each in errors if each["severity"] == "error" and ROOT / each["file"] == file}


def _pyright(file: Path, directory: Path) -> set[int]:
    """The lines on which pyright reports an error in a copy of a file: the rules exclude the bad one itself."""
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pyright"]
    rules |= {"include": [file.name], "exclude": [], "extraPaths": [str(ROOT)]}
    rules = {rule: value for rule, value in rules.items() if not rule.startswith("venv")}
    (directory / file.name).write_text(file.read_text())
    config = directory / "pyrightconfig.json"
    config.write_text(json.dumps(rules))
    told = json.loads(_run("pyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(config)))
    assert told["summary"]["filesAnalyzed"] == 1, told
    errors = [each for each in told["generalDiagnostics"] if each["severity"] == "error"]
    return {each["range"]["start"]["line"] + 1 for each in errors if Path(each["file"]).name == file.name}


def _marked(file: Path, checker: str) -> set[int]:
    """The lines of a file that are marked as an error for a checker."""
    marks = [MARK.search(line) for line in file.read_text().splitlines()]
    return {
        number for number, mark in enumerate(marks, start=1) if mark and checker in mark.group(1).split(",")
    }


@pytest.mark.parametrize(("checker", "errors"), [("mypy", _mypy), ("pyright", _pyright)])
def test_mistakes_in_a_declaration_and_in_a_saga(checker: str, errors: Errors, tmp_path: Path) -> None:
    """The lines with an error are the marked ones, neither more nor fewer."""
    marked = _marked(BAD, checker)
    assert len(marked) > 30
    assert errors(BAD, tmp_path) == marked


@pytest.mark.parametrize("errors", [_mypy, _pyright])
def test_sound_declarations_and_sagas(errors: Errors, tmp_path: Path) -> None:
    """They have no error, and the inferred types are those that are asserted in the file."""
    assert errors(GOOD, tmp_path) == set()
