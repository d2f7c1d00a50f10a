"""The tool that writes files, on a real file system: what was there before comes back, and no way leads out."""

import json
import os
from pathlib import Path

import pytest

from activities._folder import LARGEST
from activities.files import FileBefore, WriteFile, WrittenFile, find_file, put_file_back, write_file
from rescind import Absent, Applied, Call, Grade, Receipt, Unknown
from rescind.evidence import Conflict, NothingHappened, Refused
from tests.activities.attempts import Remembering
from tests.activities.sandbox_world import call_of


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that the worker knows as `notes`, with one file in it and a secret beside it."""
    root = tmp_path / "root"
    (root / "a").mkdir(parents=True)
    (root / "a/kept.txt").write_text("old\n")
    (root / "a/kept.txt").chmod(0o640)
    os.utime(root / "a/kept.txt", (1_000_000, 1_000_000))
    (tmp_path / "secret.txt").write_text("secret\n")
    monkeypatch.setenv("RESCIND_FILE_ROOTS", json.dumps({"notes": str(root)}))
    return root


def wanted(path: str = "a/kept.txt", text: str = "new\n") -> Call[WriteFile]:
    return call_of(WriteFile(folder="notes", path=path, text=text))


def receipt(
    call: Call[WriteFile], made: WrittenFile, attempts: Remembering
) -> Receipt[WriteFile, WrittenFile]:
    return Receipt(call=call, before=attempts.image, result=made)


def snapshot(root: Path) -> dict[str, tuple[bytes, int, int, list[str]]]:
    """Every file below the folder's parent: content, permissions, time of change and attributes."""
    return {
        str(each): (each.read_bytes(), each.stat().st_mode, each.stat().st_mtime_ns, os.listxattr(each))
        for each in root.parent.rglob("*")
        if each.is_file()
    }


@pytest.mark.parametrize("path", ["a/kept.txt", "a/new.txt", "new.txt"])
async def test_write_look_up_put_back(root: Path, path: str) -> None:
    """It holds the text with the permissions it had, is found, and twice put back everything is as it was."""
    before, attempts, call = snapshot(root), Remembering(), wanted(path)
    assert await attempts.run(find_file, call) == Absent()
    made = await attempts.run(write_file, call)
    assert (root / path).read_text() == "new\n"
    assert (root / path).stat().st_mode & 0o777 == (0o640 if "kept" in path else 0o644)
    assert await attempts.run(write_file, call) == made
    assert await attempts.run(find_file, call) == Applied(result=made)
    grades = [(await attempts.run(put_file_back, receipt(call, made, attempts))).grade for _ in range(2)]
    assert grades == [Grade.EXACT, Grade.NOTHING]
    assert snapshot(root) == before
    assert await attempts.run(find_file, call) == Absent()


async def test_two_steps_on_one_file(root: Path) -> None:
    """Undone last first, each finds the file as it had left it."""
    before, steps = snapshot(root), [(Remembering(), wanted(text=text)) for text in ("one", "two")]
    made = [await attempts.run(write_file, call) for attempts, call in steps]
    for (attempts, call), result in reversed(list(zip(steps, made, strict=True))):
        undone = await attempts.run(put_file_back, receipt(call, result, attempts))
        assert undone.grade is Grade.EXACT
    assert snapshot(root) == before


@pytest.mark.parametrize("change", ["edited", "replaced", "removed", "the same text again"])
async def test_somebody_has_changed_it_since(root: Path, change: str) -> None:
    """Conflict, and what they did stays."""
    file, attempts, call = root / "a/kept.txt", Remembering(), wanted()
    made = await attempts.run(write_file, call)
    if change == "edited":
        with file.open("a") as opened:
            opened.write("theirs\n")
    else:
        file.unlink()
        if change != "removed":
            file.write_text("theirs\n" if change == "replaced" else "new\n")
    theirs = snapshot(root)
    with pytest.raises(Conflict, match="Decide by hand"):
        await attempts.run(put_file_back, receipt(call, made, attempts))
    assert snapshot(root) == theirs
    if change != "edited":
        assert isinstance(await attempts.run(find_file, call), Unknown)


async def test_it_holds_the_text_already(root: Path) -> None:
    """Nothing is changed, and the result says so."""
    before = snapshot(root)
    assert not (await Remembering().run(write_file, wanted(text="old\n"))).changed
    assert snapshot(root) == before


@pytest.mark.parametrize(
    "path", ["../secret.txt", "a/../../secret.txt", "/etc/passwd", "a//b", "a/./b", "", "a/", "a\0b"]
)
def test_a_path_that_leads_out(path: str) -> None:
    """It is refused before anything is looked at."""
    with pytest.raises(ValueError, match="path"):
        wanted(path)


@pytest.mark.parametrize("path", ["link.txt", "out/secret.txt", "dangling.txt", "loop/x.txt"])
async def test_a_link_on_the_way(root: Path, path: str) -> None:
    """It is not followed, wherever it leads, and nothing is changed."""
    (root / "link.txt").symlink_to("../secret.txt")
    (root / "out").symlink_to("..")
    (root / "dangling.txt").symlink_to("../made.txt")
    (root / "loop").symlink_to("loop")
    before = snapshot(root)
    with pytest.raises(Refused, match="link"):
        await Remembering().run(write_file, wanted(path))
    assert snapshot(root) == before


async def test_a_folder_that_becomes_a_link_before_the_undo(root: Path, tmp_path: Path) -> None:
    """The undo does not follow it either."""
    attempts, call = Remembering(), wanted("a/secret.txt")
    made = await attempts.run(write_file, call)
    (root / "a").rename(root / "b")
    (root / "a").symlink_to(tmp_path)
    with pytest.raises(Refused, match="link"):
        await attempts.run(put_file_back, receipt(call, made, attempts))
    assert (tmp_path / "secret.txt").read_text() == "secret\n"


@pytest.mark.parametrize("kind", ["a folder", "a pipe", "two names", "too large", "no such folder"])
async def test_what_is_no_ordinary_file(root: Path, kind: str) -> None:
    """It is refused, at once, and stays as it is."""
    place = root / "x"
    if kind == "a folder":
        place.mkdir()
    elif kind == "a pipe":
        os.mkfifo(place)
    elif kind == "two names":
        place.hardlink_to(root / "a/kept.txt")
    elif kind == "too large":
        place.write_bytes(b"x" * (LARGEST + 1))
    before = snapshot(root)
    with pytest.raises(Refused, match="Nothing was changed"):
        await Remembering().run(write_file, wanted("nowhere/x" if kind == "no such folder" else "x"))
    assert snapshot(root) == before


async def test_drafts_of_a_killed_attempt(root: Path) -> None:
    """The lookup and the undo remove them; those of another call stay."""
    attempts, call = Remembering(), wanted()
    (root / "a" / f".rescind-{call.key}-1").write_text("half")
    (root / "a" / ".rescind-another-1").write_text("half")
    assert await attempts.run(find_file, call) == Absent()
    attempts.image = FileBefore(file=None).model_dump(mode="json")
    assert isinstance(await attempts.run(find_file, call), Unknown)
    assert sorted(each.name for each in (root / "a").iterdir()) == [".rescind-another-1", "kept.txt"]


async def test_no_time_left(root: Path) -> None:
    """Nothing is written in the attempt's last moment."""
    before = snapshot(root)
    with pytest.raises(NothingHappened, match="all the time"):
        await Remembering().run(write_file, wanted(), seconds=0.2)
    assert snapshot(root) == before


async def test_a_folder_that_the_worker_does_not_know(root: Path) -> None:
    """The call is refused with those that it knows."""
    call = call_of(WriteFile(folder="other", path="x", text=""))
    with pytest.raises(Refused, match=r"known: notes.*RESCIND_FILE_ROOTS"):
        await Remembering().run(write_file, call)
