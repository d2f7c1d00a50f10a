"""Notes as files of a folder, and a tool that writes them, honestly or with one lie that the request names."""

from pathlib import Path

from pydantic import BaseModel
from temporalio import activity

from rescind import (
    Absent,
    Applied,
    Call,
    Receipt,
    Repeat,
    Request,
    Restoration,
    Result,
    Risk,
    Tool,
    Unknown,
    remember,
    remembered,
)
from rescind.evidence import Conflict, Refused
from rescind.testing import Law

UNDONE: set[str] = set()
"""Keys of the calls that this process has undone; no tool should need to know."""


class PutNote(Request):
    """Write a note into a folder."""

    folder: str
    name: str = "note"
    text: str = "buy milk"
    lie: str = ""

    @property
    def path(self) -> Path:
        """The note's file."""
        return Path(self.folder, self.name)

    def beside(self, word: str) -> Path:
        """A further file of the same note."""
        return Path(self.folder, f"{self.name}-{word}")

    def tells(self, law: Law) -> bool:
        """Whether the lie is about this law."""
        return self.lie == law.value


class Note(Result):
    """A note that was written."""

    name: str


class Seen(BaseModel):
    """What was there before."""

    content: str | None


class Notes:
    """The files of the folder with their content."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def snapshot(self) -> dict[str, str]:
        return {file.name: file.read_text() for file in self.folder.iterdir()}

    async def reset(self) -> None:
        for file in self.folder.iterdir():
            file.unlink()

    async def disturb(self) -> None:
        with (self.folder / "note").open("a") as file:
            file.write(", and bread")

    async def take_away(self) -> None:
        (self.folder / "note").unlink()

    async def already(self) -> None:
        (self.folder / "note").write_text("somebody\nbuy milk")


def content(path: Path) -> str | None:
    return path.read_text() if path.exists() else None


def owner(path: Path) -> str:
    return (content(path) or "").partition("\n")[0]


@activity.defn
async def put_note(call: Call[PutNote]) -> Note:
    """Write it, unless there is one already."""
    asked, ours = call.request, f"{call.key}\n{call.request.text}"
    made = Note(name=asked.name)
    if asked.tells(Law.CRASH_BEFORE) and remembered(Seen):
        return made
    if asked.tells(Law.LATE_CALL) and call.key in UNDONE:
        asked.path.write_text(ours)
        raise Refused("nothing was written")
    before = await remember(Seen(content=content(asked.path)))
    if owner(asked.path) == call.key:
        if asked.tells(Law.ONE_EFFECT):
            asked.beside("2").write_text(ours)
        return made
    if before.content is not None:
        if before.content.partition("\n")[2] != asked.text:
            raise Refused("there is another note of this name")
        return Note(name=asked.name, changed=asked.tells(Law.NO_OP))
    asked.path.write_text(ours)
    return made


@activity.defn
async def drop_note(receipt: Receipt[PutNote, Note]) -> Restoration:
    """Remove it if it is still as it was written."""
    asked, key = receipt.call.request, receipt.call.key
    if asked.tells(Law.UNDONE_TWICE) and key in UNDONE:
        raise Conflict("it is gone")
    if not asked.path.exists():
        if asked.tells(Law.NOTHING_TO_UNDO) and key not in UNDONE:
            raise Conflict("it is gone")
        return Restoration.nothing("it is gone")
    comparable = asked.tells(Law.NO_OP) or owner(asked.path) == key
    same = comparable and (content(asked.path) or "").partition("\n")[2] == asked.text
    if not same and not asked.tells(Law.CONFLICT):
        raise Conflict("somebody has changed it")
    if asked.tells(Law.RESTORED):
        asked.beside("trash").write_text(asked.text)
    for each in (asked.path, asked.beside("2")):
        each.unlink(missing_ok=True)
    UNDONE.add(key)
    return Restoration.exact()


@activity.defn
async def find_note(call: Call[PutNote]) -> Applied[Note] | Absent | Unknown:
    """Tell by the key in the note."""
    asked = call.request
    if owner(asked.path) != call.key:
        return Absent()
    if asked.tells(Law.CRASH_AFTER):
        asked.path.write_text(f"found\n{asked.text}")
    return Applied(result=Note(name="another" if asked.tells(Law.FOUND) else asked.name))


PUT_NOTE = Tool(
    name="notes.put",
    description="Write a note; the undo removes it unless somebody has changed it.",
    forward=put_note,
    compensate=drop_note,
    lookup=find_note,
    is_reversible=True,
)

PUT_NOTE_DEDUPLICATED = Tool(
    name="notes.put_once",
    description="Write a note where the key is known again.",
    forward=put_note,
    compensate=drop_note,
    lookup=find_note,
    is_reversible=True,
    repeat=Repeat.DEDUPLICATED,
)

PUT_NOTE_BLIND = Tool(
    name="notes.put_blind",
    description="Write a note where nobody can look.",
    forward=put_note,
    compensate=drop_note,
    is_reversible=True,
)


@activity.defn
async def shout_note(call: Call[PutNote]) -> Note:
    """Write it for good."""
    call.request.path.write_text(call.key)
    return Note(name=call.request.name)


SHOUT_NOTE = Tool(
    name="notes.shout",
    description="Write a note that stays.",
    forward=shout_note,
    risk=Risk.HIGH,
)


@activity.defn
async def read_note(call: Call[PutNote]) -> Note:
    """Read it, and lie about only reading it."""
    if call.request.tells(Law.READ_ONLY):
        call.request.path.write_text("read")
    return Note(name=call.request.name, changed=False)


READ_NOTE = Tool(
    name="notes.read",
    description="Read a note.",
    forward=read_note,
    read_only=True,
)
