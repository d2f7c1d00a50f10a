"""A real process under test: started, watched through its log, and killed, stopped and woken by signal."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

# Kills the process group of $1 once the test's process is gone, however it went: the pipe's end tells.
_GUARD = 'read -r _; kill -KILL "-$1"'
_POLL = 0.02  # seconds between two looks at the log


class ProcessError(AssertionError):
    """The process ended, or said nothing, before what was waited for; the message carries the end of its log."""


class Process:
    """A program in a process group of its own, alive inside `async with` at the longest.

    Leaving the block kills the whole group, stopped or not; if the test's own process is killed, a guard does.
    Output and errors go to one log file, unbuffered where the program is Python.
    """

    def __init__(
        self,
        command: Sequence[str | Path],
        environment: Mapping[str, str],
        log: Path,
        *,
        cwd: Path | None = None,
    ) -> None:
        """`environment` is the whole environment; a command that begins with a .py file is run by this Python."""
        first = str(command[0])
        self._command = (
            [sys.executable, *map(str, command)] if first.endswith(".py") else [*map(str, command)]
        )
        self._environment = {**environment, "PYTHONUNBUFFERED": "1"}
        self._log = log
        self._cwd = cwd
        self._read = 0
        self._process: asyncio.subprocess.Process | None = None
        self._guard: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int:
        """The process id, which is its group's too."""
        return self._running.pid

    @property
    def log(self) -> str:
        """All that the process has written until now."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    async def __aenter__(self) -> Self:
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._cwd,
                env=self._environment,
                start_new_session=True,
            )
        self._guard = await asyncio.create_subprocess_exec(
            *("/bin/sh", "-c", _GUARD, "guard", str(self.pid)),
            stdin=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        self._signal_group(signal.SIGKILL)
        await self._running.wait()
        if self._guard:
            self._guard.kill()
            await self._guard.wait()

    async def line(self, pattern: str, within: float = 30.0) -> re.Match[str]:
        """The next line with this pattern in the log, after the last one that was found.

        Raises ProcessError with the end of the log if the process ends first, or after `within` seconds.
        """
        try:
            async with asyncio.timeout(within):
                while True:
                    code = self._running.returncode  # before the log, which has the last word then
                    if found := self._next(pattern):
                        return found
                    if code is not None:
                        raise self._ended(f"ended with {code}", pattern)
                    await asyncio.sleep(_POLL)
        except TimeoutError:
            raise self._ended(f"is silent after {within:g} s", pattern) from None

    async def ended(self, within: float = 30.0) -> int:
        """The exit code, negative for a signal; ProcessError if it still runs after `within` seconds."""
        try:
            return await asyncio.wait_for(self._running.wait(), within)
        except TimeoutError:
            raise self._ended(f"still runs after {within:g} s", "its end") from None

    async def kill(self) -> None:
        """SIGKILL to the process alone, as `kill -9` does: its children live on; returns when it has ended."""
        self._running.kill()
        await self._running.wait()

    def terminate(self) -> None:
        """SIGTERM to the process alone."""
        self._running.terminate()

    def stop(self) -> None:
        """SIGSTOP to the whole group: nothing of it runs until `resume`, and its connections stay open."""
        self._signal_group(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT to the whole group."""
        self._signal_group(signal.SIGCONT)

    @property
    def _running(self) -> asyncio.subprocess.Process:
        if self._process is None:
            raise RuntimeError("the process is not started: use `async with`")
        return self._process

    def _signal_group(self, number: signal.Signals) -> None:
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            return  # the last one of the group has gone; macOS says EPERM where only a zombie is left

    def _next(self, pattern: str) -> re.Match[str] | None:
        found = re.compile(pattern, re.MULTILINE).search(self.log, self._read)
        if found:
            self._read = found.end()
        return found

    def _ended(self, what: str, awaited: str) -> ProcessError:
        tail = "\n".join(self.log.splitlines()[-40:])
        return ProcessError(f"{self._command} {what}; awaited: {awaited}; the end of its log:\n{tail}")
