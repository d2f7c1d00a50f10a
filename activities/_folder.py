"""One file below a configured folder: reached without following a link, replaced as a whole, marked with a key.

Every folder on the way is opened on its own, relative to the one before and refusing links, so that neither `..` nor a
link, not even one that is put there meanwhile, leads out of the root. The mark is an extended attribute of the file:
it moves with it, and whoever replaces the file drops it.
"""

from __future__ import annotations

import base64
import errno
import hashlib
import os
import stat
import uuid
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from activities.settings import settings
from rescind.evidence import NothingHappened, Refused

LARGEST = 256 * 1024
"""Bytes of a file that is replaced; all of them are kept in the ledger."""

_MARK = "user.rescind.key"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Seen(BaseModel):
    """A file as it is: its content in base64, its mode, when it was changed (ns since 1970), and its mark."""

    model_config = ConfigDict(frozen=True)

    content: str
    mode: int
    changed_at: int
    key: str | None

    @property
    def digest(self) -> str:
        """SHA-256 of the content."""
        return hashlib.sha256(base64.b64decode(self.content)).hexdigest()


@dataclass(frozen=True, slots=True)
class Place:
    """The folder of one file, open, and the file's name in it; made by `opened`."""

    folder: int
    name: str
    shown: str

    def look(self) -> Seen | None:
        """The file as it is; None if there is none.

        Raises:
            Refused: It is no ordinary file of this worker's user with one name, or too large.
        """
        try:
            file = os.open(self.name, _FILE, dir_fd=self.folder)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise Refused(
                    f"{self.shown} is a link. Nothing was changed. Name the file that it leads to"
                ) from error
            raise
        try:
            found = os.fstat(file)
            self._require_ordinary(found)
            with os.fdopen(file, "rb", closefd=False) as opened_file:
                content = opened_file.read(LARGEST + 1)
            if len(content) > LARGEST:
                raise Refused(f"{self.shown} has more than {LARGEST} bytes. Nothing was changed")
            return Seen(
                content=base64.b64encode(content).decode(),
                mode=stat.S_IMODE(found.st_mode),
                changed_at=found.st_mtime_ns,
                key=_mark_of(file),
            )
        finally:
            os.close(file)

    def put(self, content: bytes, mode: int, key: str | None, by: str, changed_at: int | None = None) -> None:
        """Replace the file as a whole, or make it; whoever reads it sees the old one or the new one.

        Args:
            content: What it will hold.
            mode: Its permissions.
            key: Its mark.
            by: The call that writes, in whose name the draft is made.
            changed_at: When it was changed, in nanoseconds since 1970; None is now.

        Raises:
            NothingHappened: It could not be written.
            Refused: Its file system keeps no marks.
        """
        draft = f"{_draft_prefix(by)}{uuid.uuid4().hex}"
        file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=self.folder)
        try:
            with os.fdopen(file, "wb") as opened_file:
                opened_file.write(content)
                opened_file.flush()
                os.fchmod(file, mode)
                self._mark(file, key)
                if changed_at is not None:
                    os.utime(file, ns=(changed_at, changed_at))
                os.fsync(file)
            os.rename(draft, self.name, src_dir_fd=self.folder, dst_dir_fd=self.folder)
        except OSError as error:
            raise NothingHappened(
                f"{self.shown} could not be written: {error}. Nothing was changed"
            ) from error
        finally:
            with suppress(FileNotFoundError):
                os.unlink(draft, dir_fd=self.folder)
        os.fsync(self.folder)

    def remove(self) -> None:
        """Remove the file; one that is gone already is no error."""
        with suppress(FileNotFoundError):
            os.unlink(self.name, dir_fd=self.folder)
        os.fsync(self.folder)

    def tidy(self, by: str) -> None:
        """Remove the drafts that killed attempts of this call have left; a living one fails, and is tried again."""
        for name in os.listdir(self.folder):  # noqa: PTH208  (pathlib knows no open folders)
            if name.startswith(_draft_prefix(by)):
                with suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=self.folder)

    def _mark(self, file: int, key: str | None) -> None:
        if key is None:
            return
        try:
            os.setxattr(file, _MARK, key.encode())
        except OSError as error:
            if error.errno == errno.ENOTSUP:
                raise Refused(
                    f"the file system of {self.shown} keeps no extended attributes, by which a file could be proven to "
                    "be ours. Nothing was changed. Let the folder be on one that does (ext4, XFS, Btrfs)"
                ) from error
            raise

    def _require_ordinary(self, found: os.stat_result) -> None:
        wrong = {
            "is no ordinary file": not stat.S_ISREG(found.st_mode),
            "has several names (hard links)": found.st_nlink > 1,
            "belongs to another user": found.st_uid != os.geteuid(),
        }
        for words, holds in wrong.items():
            if holds:
                raise Refused(
                    f"{self.shown} {words}, so it can't be replaced and put back. Nothing was changed"
                )


@contextmanager
def opened(alias: str, path: str) -> Generator[Place, None, None]:
    """The place of a file below the folder that the worker knows by this alias.

    Raises:
        Refused: There is no such folder, or the way to the file leads over a link or a file.
    """
    root = settings().file_root(alias)
    *folders, name = path.split("/")
    shown = f"the file {path!r} of the folder {alias!r}"
    walked: list[int] = []
    try:
        walked.append(os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        for each in folders:
            walked.append(os.open(each, _FOLDER, dir_fd=walked[-1]))
        yield Place(walked[-1], name, shown)
    except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
        raise Refused(
            f"the way to {shown} is not there, is closed, or leads over a link or a file: {error.strerror}. "
            "Nothing was changed. Make the folder first"
        ) from error
    finally:
        for folder in walked:
            os.close(folder)


def _mark_of(file: int) -> str | None:
    try:
        return os.getxattr(file, _MARK).decode(errors="replace")
    except OSError as error:
        if error.errno in (errno.ENODATA, errno.ENOTSUP):
            return None
        raise


def _draft_prefix(by: str) -> str:
    return f".rescind-{by}-"
