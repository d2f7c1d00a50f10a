"""What is particular to files: faults are met in the system calls that replace one, and only under its key."""

import asyncio
import errno
import os
from contextlib import suppress
from pathlib import Path

import pytest

from tests.faults import Fault
from tests.faults.files import FileFaults

KEY = "rsc-key"


def replace(folder: Path, key: str = KEY) -> None:
    """Replace the file as the tool does: by a draft that is renamed to its place, or removed."""
    draft = f".rescind-{key}-{os.urandom(16).hex()}"
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, dir_fd=place))
        try:
            os.rename(draft, "file", src_dir_fd=place, dst_dir_fd=place)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(draft, dir_fd=place)
    finally:
        os.close(place)


@pytest.mark.parametrize(
    ("fault", "number", "acted"),
    [
        (Fault.REFUSE, errno.EACCES, False),
        (Fault.UNAVAILABLE, errno.ENOSPC, False),
        (Fault.HOLD, errno.EIO, False),
        (Fault.ERROR_AFTER, errno.EIO, True),
    ],
)
async def test_it_fails(tmp_path: Path, fault: Fault, number: int, acted: bool) -> None:
    """With the error that a disk would have, once, and with the file in its place only where the fault acts."""
    with FileFaults(stands=0.1) as disk:
        await disk.plan(KEY, [fault])
        replace(tmp_path, "rsc-other")
        (tmp_path / "file").unlink()
        with pytest.raises(OSError, match="as planned") as failed:
            replace(tmp_path)
        assert failed.value.errno == number
        assert [name for _, _, names in os.walk(tmp_path) for name in names] == (["file"] if acted else [])
        replace(tmp_path)
        assert [(seen.acted, seen.under_way) for seen in disk.calls() if seen.operation == KEY] == [
            (acted, False),
            (True, False),
        ]


@pytest.mark.parametrize("fault", [Fault.HANG_AFTER, Fault.HANG_BEFORE])
async def test_it_hangs(tmp_path: Path, fault: Fault) -> None:
    """The file is in its place before or after that."""
    with FileFaults(stands=0.5) as disk:
        await disk.plan(KEY, [fault])
        replacing = asyncio.create_task(asyncio.to_thread(replace, tmp_path))
        await asyncio.sleep(0.2)
        assert not replacing.done()
        assert (tmp_path / "file").exists() == (fault is Fault.HANG_AFTER)
        await replacing
        assert (tmp_path / "file").exists()


async def test_a_draft_that_was_removed_meanwhile(tmp_path: Path) -> None:
    """The late replacement fails, and has not acted."""
    with FileFaults(stands=0.5) as disk:
        await disk.plan(KEY, [Fault.HANG_BEFORE])
        replacing = asyncio.create_task(asyncio.to_thread(replace, tmp_path))
        await asyncio.sleep(0.2)
        for seen in disk.calls():
            (tmp_path / seen.call).unlink()
        with pytest.raises(FileNotFoundError):
            await replacing
        assert [seen.acted for seen in disk.calls()] == [False]
