"""Runs one program and ends it as soon as the one who asked for it is gone.

Called as `leash.py SIGNAL ACCOUNT PROGRAM ARGUMENT…`. The starter holds the other end of standard input;
when that closes, for whatever reason, the program gets SIGNAL, and SIGKILL after ten seconds. The program's
process id is the one line on standard output. Uses the standard library only and imports nothing of this
package, so that it starts fast and runs with `python -I -S`.
"""

import ctypes
import os
import pwd
import select
import signal
import subprocess
import sys
from types import FrameType

PATIENCE = 10.0  # seconds between the polite signal and SIGKILL
SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG in <linux/prctl.h>
KEEP_CAPABILITIES = 8  # PR_SET_KEEPCAPS
AMBIENT_CAPABILITY, RAISE = 47, 2  # PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE
MAY_READ_ANYWHERE = (2, 1)  # CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE in <linux/capability.h>; the least first
CAPABILITY_VERSION = 0x20080522


def on_linux() -> bool:
    """True where the calls below exist; a function, so that type checkers look at both sides."""
    return sys.platform.startswith("linux")


def become(account: str) -> None:
    """Gives up root for `account`, keeping on Linux what root needs to reach its own private folders.

    PostgreSQL refuses to run as root, and its files may lie below a folder like /root that no other account
    may enter.
    """
    entry = pwd.getpwnam(account)
    libc = ctypes.CDLL(None, use_errno=True)
    if on_linux():
        libc.prctl(KEEP_CAPABILITIES, 1, 0, 0, 0)
    os.setgroups([])
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)
    if on_linux():
        keep_capabilities(libc)


def keep_capabilities(libc: ctypes.CDLL) -> None:
    """Hands the first capability of MAY_READ_ANYWHERE that the container grants on to the next program."""
    for capability in MAY_READ_ANYWHERE:
        bit = 1 << capability
        header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
        sets = (ctypes.c_uint32 * 6)(bit, bit, bit, 0, 0, 0)
        if libc.capset(header, sets) == 0:
            libc.prctl(AMBIENT_CAPABILITY, RAISE, capability, 0, 0)
            return


def start(program: list[str], end: signal.Signals, account: str) -> subprocess.Popen[bytes]:
    """Starts the program; on Linux the kernel ends it should this process be killed."""
    leash = os.getpid()

    def prepare() -> None:
        if account:
            become(account)
        if on_linux():
            # After the change of account, which clears it.
            ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, int(end), 0, 0, 0)
            if os.getppid() != leash:
                os._exit(1)

    return subprocess.Popen(  # noqa: S603 - the program is chosen by embedded/, not by a user
        program,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        preexec_fn=prepare,  # noqa: PLW1509 - there is one thread here
    )


def main() -> int:
    """Returns the program's own exit code, or 128 + N when signal N ended it."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    told: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        told.append(number)

    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, note)
    end = signal.Signals[sys.argv[1]]
    child = start(sys.argv[3:], end, sys.argv[2])
    os.write(1, f"{child.pid}\n".encode())
    os.close(1)
    while child.poll() is None:
        readable, _, _ = select.select([0, woken], [], [])
        if woken in readable:
            os.read(woken, 64)
        if 0 in readable or set(told) - {signal.SIGCHLD}:
            child.send_signal(end)
            try:
                child.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                child.kill()
    code = child.wait()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
