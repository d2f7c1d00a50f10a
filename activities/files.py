"""The tool that writes a file below a folder that the worker knows; the undo puts back what was there before."""

from __future__ import annotations

import base64
import hashlib
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from temporalio import activity

from activities._folder import Place, Seen, opened
from rescind import (
    Absent,
    Applied,
    Call,
    Receipt,
    Request,
    Restoration,
    Result,
    Risk,
    Tool,
    Unknown,
    remember_blocking,
    remembered,
    time_left,
)
from rescind.evidence import Conflict, NothingHappened

_SHORTEST = 1.0
"""Seconds of the attempt below which nothing is written any more."""


def _stays_below(path: str) -> str:
    parts = path.split("/")
    if "\0" in path or any(part in ("", ".", "..") or len(part.encode()) > 200 for part in parts):
        raise ValueError(f"{path!r} is no path below a folder: write it as reports/2026.txt")
    return path


class WriteFile(Request):
    """Write a text file; folders on the way are not made, and links are not followed.

    Attributes:
        folder: The name under which the worker knows the folder.
        path: The file below it, as `reports/2026.txt`.
        text: All that it will hold, as UTF-8.
    """

    folder: str
    path: Annotated[str, Field(min_length=1, max_length=1_000), AfterValidator(_stays_below)]
    text: Annotated[str, Field(max_length=200_000)]


class WrittenFile(Result):
    """A file that was written, with the SHA-256 of its content."""

    folder: str
    path: str
    sha256: str


class FileBefore(BaseModel):
    """The before-image: the file as it was; None if there was none."""

    model_config = ConfigDict(frozen=True)

    file: Seen | None


@activity.defn(no_thread_cancel_exception=True)
def write_file(call: Call[WriteFile]) -> WrittenFile:
    """Replace the file as a whole, marked with the call's key; its permissions stay.

    Raises:
        Refused: The way to it leads over a link, or it is no ordinary file of this worker's user.
    """
    asked, content = call.request, call.request.text.encode()
    with opened(asked.folder, asked.path) as place:
        now = place.look()
        own = now is not None and now.key == call.key
        if now is not None and now.digest == _digest(asked) and not own:
            return _written(asked, changed=False)
        before = remember_blocking(FileBefore(file=now)).file
        if not own:
            if time_left() < _SHORTEST:
                raise NothingHappened(
                    "looking at the file took all the time of this attempt. Nothing was written"
                )
            place.put(content, before.mode if before else 0o644, call.key, call.key)
    return _written(asked)


@activity.defn(no_thread_cancel_exception=True)
def put_file_back(receipt: Receipt[WriteFile, WrittenFile]) -> Restoration:
    """Put back the file that was there before, or remove the new one, if it is still the one that the call wrote.

    Between the comparison and the replacement no file system holds others off: who writes within that moment, by
    another way than this tool, is overwritten.

    Raises:
        Conflict: Somebody has changed, replaced or removed it since. Nothing was changed.
    """
    call, asked = receipt.call, receipt.call.request
    before = receipt.before_as(FileBefore)
    with opened(asked.folder, asked.path) as place:
        place.tidy(call.key)
        now = place.look()
        if before is not None and now == before.file:
            return Restoration.nothing(f"{place.shown} is as it was")
        if before is None or now is None or (now.key, now.digest) != (call.key, _digest(asked)):
            raise Conflict(_differs(place, now))
        _restore(place, before.file, call.undo_key)
    return Restoration.exact()


@activity.defn(no_thread_cancel_exception=True)
def find_file(call: Call[WriteFile]) -> Applied[WrittenFile] | Absent | Unknown:
    """Tell by the mark and the content."""
    asked, before = call.request, remembered(FileBefore)
    if before is None:
        return Absent()  # nothing is written before that is remembered
    with opened(asked.folder, asked.path) as place:
        place.tidy(call.key)
        now = place.look()
        if now is not None and now.key == call.key:
            return Applied(result=_written(asked))
        if now == before.file:
            return Absent()
        return Unknown(why=f"{_differs(place, now)}, which hides whether this step had written it before")


WRITE_FILE = Tool(
    name="files.write",
    description="Write a text file; the undo puts back what was there before, unless it was changed since.",
    forward=write_file,
    compensate=put_file_back,
    lookup=find_file,
    is_reversible=True,
    acts_on=("files/{folder}/{path}",),
    risk=Risk.LOW,
    timeout=timedelta(seconds=5),
    undo_timeout=timedelta(seconds=5),
)


def _restore(place: Place, before: Seen | None, undo_key: str) -> None:
    if before is None:
        place.remove()
        return
    content = base64.b64decode(before.content)
    place.put(content, before.mode, before.key, undo_key, before.changed_at)


def _differs(place: Place, now: Seen | None) -> str:
    is_now = (
        "is gone" if now is None else f"holds something else now (SHA-256 {now.digest[:12]}, by {now.key})"
    )
    return f"{place.shown} {is_now}, not what this step wrote. Nothing was changed. Decide by hand which one holds"


def _digest(asked: WriteFile) -> str:
    return hashlib.sha256(asked.text.encode()).hexdigest()


def _written(asked: WriteFile, *, changed: bool = True) -> WrittenFile:
    return WrittenFile(changed=changed, folder=asked.folder, path=asked.path, sha256=_digest(asked))
