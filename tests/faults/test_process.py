"""A process under test is watched, signalled, and never outlives its test."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.faults.process import Process, ProcessError

_ROOT = Path(__file__).parents[2]
_TICK = "import time\nfor n in range(10**6): print('tick', n); time.sleep(0.02)"
_WITH_CHILD = (
    "import subprocess, time; print('child', subprocess.Popen(['sleep', '600']).pid); time.sleep(600)"
)


def python(code: str, tmp_path: Path) -> Process:
    """A process that runs this code."""
    return Process([sys.executable, "-c", code], os.environ, tmp_path / "log")


def lives(pid: int) -> bool:
    """Whether this process runs; a zombie does not."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], check=False, capture_output=True, text=True)
    return bool(state.stdout.strip()) and not state.stdout.startswith("Z")


async def dies(pid: int) -> bool:
    """Whether this process ends within ten seconds."""
    until = time.monotonic() + 10
    while lives(pid) and time.monotonic() < until:  # noqa: ASYNC110 - another process's state
        await asyncio.sleep(0.05)
    return not lives(pid)


async def test_lines_are_found_one_after_another(tmp_path: Path) -> None:
    """Each line is found once, in its order, with its groups."""
    async with python(_TICK, tmp_path) as process:
        first = await process.line(r"^tick (\d+)$")
        second = await process.line(r"^tick (\d+)$")
    assert (first[1], second[1]) == ("0", "1")


async def test_a_process_that_ends_before_the_line(tmp_path: Path) -> None:
    """The error has the exit code and the log; a last line just before the end is still found."""
    async with python("print('last'); raise SystemExit(3)", tmp_path) as process:
        await process.line("last")
        with pytest.raises(ProcessError, match=r"ended with 3; awaited: more[\s\S]*last"):
            await process.line("more")
        assert await process.ended() == 3


async def test_a_process_that_is_silent_and_does_not_end(tmp_path: Path) -> None:
    """Both waits end with an error that says so."""
    async with python("import time; time.sleep(600)", tmp_path) as process:
        with pytest.raises(ProcessError, match=r"is silent after 0.1 s"):
            await process.line("anything", within=0.1)
        with pytest.raises(ProcessError, match=r"still runs after 0.1 s"):
            await process.ended(within=0.1)


async def test_a_stopped_process_stands_still_until_it_is_resumed(tmp_path: Path) -> None:
    """Nothing is written while it is stopped, and it goes on where it was."""
    async with python(_TICK, tmp_path) as process:
        await process.line("tick")
        process.stop()
        await asyncio.sleep(0.1)
        before = process.log
        await asyncio.sleep(0.3)
        assert process.log == before
        process.resume()
        await process.line(f"tick {before.count('tick') + 2}$")


async def test_terminating_and_killing(tmp_path: Path) -> None:
    """The exit code tells the signal."""
    async with python(_TICK, tmp_path) as process:
        await process.line("tick")
        process.terminate()
        assert await process.ended() == -signal.SIGTERM
    async with python(_TICK, tmp_path) as process:
        await process.kill()
        assert await process.ended() == -signal.SIGKILL


async def test_children_outlive_a_kill_but_not_the_block(tmp_path: Path) -> None:
    """A kill is for the process alone; leaving the block, stopped or not, ends its whole group."""
    async with python(_WITH_CHILD, tmp_path) as process:
        child = int((await process.line(r"child (\d+)"))[1])
        await process.kill()
        assert lives(child)
        process.stop()
    assert await dies(child)


async def test_the_test_itself_is_killed(tmp_path: Path) -> None:
    """The process and its children end with it, though nothing of the test runs any more."""
    code = (
        "import asyncio, os, sys\nfrom pathlib import Path\nfrom tests.faults.process import Process\n"
        "async def main():\n"
        f"    inner = [sys.executable, '-c', {_WITH_CHILD!r}]\n"
        f"    async with Process(inner, os.environ, Path({str(tmp_path / 'inner')!r})) as process:\n"
        "        child = await process.line(r'child (\\d+)')\n"
        "        print('pids', process.pid, child[1])\n"
        "        await process.ended(600)\n"
        "asyncio.run(main())"
    )
    outer = Process([sys.executable, "-c", code], os.environ, tmp_path / "log", cwd=_ROOT)
    async with outer:
        pids = [int(pid) for pid in (await outer.line(r"pids (\d+) (\d+)")).groups()]
        assert all(lives(pid) for pid in pids)
        await outer.kill()
        assert [await dies(pid) for pid in pids] == [True, True]
