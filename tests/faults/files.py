"""A disk that fails on chosen files: the interpreter's audit hook sees each system call right before it is made."""

import errno
import os
import re
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from functools import cache
from types import TracebackType
from typing import Any, Self

from tests.faults import Fault, Seen

_DRAFT = re.compile(r"\.rescind-(?P<key>.+)-[0-9a-f]{32}")
_listening: list["FileFaults"] = []


class FileFaults:
    """What a disk does to the replacement of a file, told by the key of the call that replaces it.

    A call is a draft that is made, renamed to its place, and removed where it was not. REFUSE meets it at the first of
    these, UNAVAILABLE (the disk is full), HOLD and HANG_BEFORE at the second, ERROR_AFTER and HANG_AFTER at the third.
    What hangs does so for `stands` seconds, since no caller can be seen to go. Used as a context manager; the hook
    itself stays in the interpreter (PEP 578), and does nothing outside of one.
    """

    def __init__(self, *, stands: float) -> None:
        self._stands = stands
        self._plans: dict[str, deque[Fault | None]] = {}
        self._log: dict[str, Seen] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        _install()
        _listening.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _listening.remove(self)

    async def plan(self, operation: str, faults: Sequence[Fault | None]) -> None:
        """See FaultyProvider; the operation is a key."""
        with self._lock:
            self._plans[operation] = deque(faults)

    def calls(self) -> list[Seen]:
        """See FaultyProvider."""
        with self._lock:
            return list(self._log.values())

    def meet(self, event: str, args: tuple[Any, ...]) -> None:
        """What the disk does to one system call; returns if it may be made."""
        draft = args[0]
        if not isinstance(draft, str) or not (named := _DRAFT.fullmatch(draft)):
            return
        match event:
            case "open":
                if args[2] & os.O_CREAT:
                    self._arrive(draft, named["key"])
            case "os.rename":
                self._before(self._log[draft], draft, args[2])
            case _:
                if seen := self._log.get(draft):
                    self._after(seen)

    def _arrive(self, draft: str, key: str) -> None:
        with self._lock:
            faults = self._plans.get(key)
            seen = self._log[draft] = Seen(key, draft, faults.popleft() if faults else None)
        if seen.fault is Fault.REFUSE:
            seen.under_way = False
            raise PermissionError(errno.EACCES, "as planned", draft)

    def _before(self, seen: Seen, draft: str, folder: int) -> None:
        if seen.fault in (Fault.HOLD, Fault.HANG_BEFORE):
            time.sleep(self._stands)
        if seen.fault is Fault.UNAVAILABLE:
            raise OSError(errno.ENOSPC, "as planned", draft)
        if seen.fault is Fault.HOLD:
            raise OSError(errno.EIO, "as planned", draft)
        seen.acted = _is_there(draft, folder)

    def _after(self, seen: Seen) -> None:
        """The draft is in its place, unless it failed before; a fault is met only once."""
        met, seen.under_way = not seen.under_way, False
        if met or not seen.acted:
            return
        if seen.fault is Fault.HANG_AFTER:
            time.sleep(self._stands)
        if seen.fault is Fault.ERROR_AFTER:
            raise OSError(errno.EIO, "as planned", seen.call)


def _is_there(name: str, folder: int) -> bool:
    """False for a draft that another attempt has removed meanwhile: renaming it will fail."""
    try:
        os.stat(name, dir_fd=folder)
    except FileNotFoundError:
        return False
    return True


@cache
def _install() -> None:
    """Once for the life of the interpreter."""
    sys.addaudithook(_hear)


def _hear(event: str, args: tuple[Any, ...]) -> None:
    if _listening and event in ("open", "os.rename", "os.remove"):
        for each in tuple(_listening):
            each.meet(event, args)
