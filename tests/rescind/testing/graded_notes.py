"""A tool in a thread whose undo leaves something, and says so as its request tells it to."""

from pathlib import Path

from temporalio import activity

from rescind import (
    Absent,
    Applied,
    Call,
    Grade,
    Receipt,
    Repeat,
    Request,
    Restoration,
    Result,
    Tool,
    Unknown,
)


class PutGradedNote(Request):
    """Write a note whose undo leaves something, and says something."""

    folder: str
    leaves: str
    says: str


class Graded(Result):
    """A note, by a reference that its call chose."""

    reference: str


class GradedNote:
    """The folder's files; those in the archive mean nothing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def snapshot(self) -> set[str]:
        return {file.name for file in self.folder.iterdir()}

    def meaning(self, snapshot: set[str]) -> set[str]:
        return {name for name in snapshot if not name.startswith("archived-")}

    async def reset(self) -> None:
        for file in self.folder.iterdir():
            file.unlink()


def path(call: Call[PutGradedNote], prefix: str = "") -> Path:
    return Path(call.request.folder, f"{prefix}{call.key}")


def reference(call: Call[PutGradedNote]) -> str:
    return f"N-{call.key[-8:]}"


@activity.defn(no_thread_cancel_exception=True)
def put_graded_note(call: Call[PutGradedNote]) -> Graded:
    """Write it."""
    path(call).write_text("")
    return Graded(reference=reference(call))


@activity.defn(no_thread_cancel_exception=True)
def drop_graded_note(receipt: Receipt[PutGradedNote, Graded]) -> Restoration:
    """Remove it, and leave what is asked for."""
    call = receipt.call
    left = {"equivalent": "archived-", "residue": "left-"}.get(call.request.leaves)
    path(call).unlink(missing_ok=True)
    if left:
        path(call, left).write_text("")
    says = Grade(call.request.says)
    detail = f"a file of {call.key} for {receipt.result.reference}"
    return Restoration(grade=says, detail=detail if says in (Grade.EQUIVALENT, Grade.RESIDUE) else None)


@activity.defn(no_thread_cancel_exception=True)
def find_graded_note(call: Call[PutGradedNote]) -> Applied[Graded] | Absent | Unknown:
    """Look for its file."""
    return Applied(result=Graded(reference=reference(call))) if path(call).exists() else Absent()


GRADED_NOTE = Tool(
    name="notes.put_graded",
    description="Write a note; the undo leaves what the request says.",
    forward=put_graded_note,
    compensate=drop_graded_note,
    lookup=find_graded_note,
    is_reversible=True,
    repeat=Repeat.DEDUPLICATED,
)
