"""The page on testing tools: its example is run as it says, and its list of laws is the SDK's."""

import os
import re
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from rescind.testing import CertifiedGrade, Law, own_database, read_certificates
from tests.docs.pages import text, unaccounted, write_files

pytestmark = pytest.mark.timeout(300)  # each run starts a PostgreSQL of its own
PAGE = "docs/testing-your-tools.md"


def run_pytest(folder: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run the folder's tests as the page says; the plugin is found as an installed one is."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "RESCIND_"))}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    return subprocess.run(
        command, cwd=folder, env=kept | variables, capture_output=True, text=True, timeout=240, check=False
    )


def test_every_python_block_is_run() -> None:
    """No code on the page escapes the tests."""
    assert unaccounted(PAGE) == 0


def test_the_laws_on_the_page() -> None:
    """They are the SDK's, word by word."""
    listed = re.findall(r"^\| (.+?) \| (.+?) \|$", text(PAGE).partition("## A tool")[0], re.MULTILINE)
    assert listed[1:] == [(law.value, law.sentence) for law in Law]


def test_the_example(tmp_path: Path) -> None:
    """The tool keeps the laws, and its certificate is written."""
    write_files(PAGE, tmp_path)
    ran = run_pytest(tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (certificate,) = read_certificates(tmp_path)
    assert certificate.grade is CertifiedGrade.EXACT
    assert (tmp_path / "shop.set_price.md").read_text() == certificate.as_markdown()


def test_the_example_without_its_comparison(tmp_path: Path) -> None:
    """The error is the one on the page; the ledger is the one that the environment names."""
    write_files(PAGE, tmp_path)
    tool = tmp_path / "prices.py"
    honest = "change(shop, asked.article, ours, before)"
    assert honest in tool.read_text()
    tool.write_text(tool.read_text().replace(honest, "change(shop, asked.article, now, before)"))
    with own_database() as dsn:
        ran = run_pytest(tmp_path, RESCIND_TEST_LEDGER_DSN=dsn)
        with psycopg.connect(dsn) as connection:
            assert connection.execute("select count(*) > 0 from rescind.saga").fetchone() == (True,)
    promised = text(PAGE).partition("```\nrescind.testing._certificate.")[2].partition("```")[0]
    assert ran.returncode == pytest.ExitCode.TESTS_FAILED
    said = "\n".join(line.removeprefix("E       ").removeprefix("E   ") for line in ran.stdout.splitlines())
    for line in promised.strip().splitlines():
        assert line.strip() in said
