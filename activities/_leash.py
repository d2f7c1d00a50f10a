"""Runs one program until it ends, its time is up, or whoever started it is gone; then ends its whole group.

A push that outlives its worker could land after everybody has concluded that it never will. This runs
as a program of its own, leader of its process group, with a pipe as standard input that closes with
the worker; it imports nothing that is slow.
"""

import os
import select
import signal
import sys
import time
from types import FrameType

_GRACE = 1.0
"""Seconds at most between SIGTERM, at which git removes its lock files, and SIGKILL."""

_TIDYING = 0.1
"""Seconds that the program's children have after it has ended."""


def main() -> None:
    """Exits with the program's code, or is killed with its group; arguments: seconds, program, its arguments."""
    ends = time.monotonic() + float(sys.argv[1])
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, _woken)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    child = os.posix_spawnp(
        sys.argv[2],
        sys.argv[2:],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)],
        setsigdef=[signal.SIGTERM],
    )
    code = _code_of(child, ends, [0, woken])
    if code is None:
        os.killpg(0, signal.SIGTERM)
        _code_of(child, time.monotonic() + _GRACE, [woken])
        time.sleep(_TIDYING)
        os.killpg(0, signal.SIGKILL)
    sys.exit(code)


def _woken(_number: int, _frame: FrameType | None) -> None:
    """Nothing; but without a handler SIGCHLD would not be written to the wakeup pipe."""


def _code_of(child: int, ends: float, watched: list[int]) -> int | None:
    """The child's exit code; None when the time is up, or standard input has been closed."""
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return _exit_code(status)
        ready, _, _ = select.select(watched, [], [], max(0.0, ends - time.monotonic()))
        if not ready or 0 in ready:
            return None
        os.read(ready[0], 1024)


def _exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    main()
