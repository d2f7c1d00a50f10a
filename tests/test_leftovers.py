"""What a test module leaves open is reported at that module."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
LEAVES = """
import socket

def test_leaves_a_socket_in_a_cycle():
    held = [socket.socket(socket.AF_UNIX)]
    held.append(held)

def test_the_last_one():
    pass
"""
INNOCENT = """
import gc

def test_collects():
    gc.collect()
"""


def test_a_socket_left_to_the_garbage_collector(tmp_path: Path) -> None:
    """The error is the leaving module's, and the module in which the collector runs next is green."""
    (tmp_path / "test_a_leaves.py").write_text(LEAVES)
    (tmp_path / "test_b_innocent.py").write_text(INNOCENT)
    settings = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path)]
    plugins = ["-p", "tests.leftovers", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *settings, *plugins, tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "ERROR at teardown of test_the_last_one" in done.stdout
    assert "unclosed <socket.socket" in done.stdout
    assert "3 passed, 1 error" in done.stdout
