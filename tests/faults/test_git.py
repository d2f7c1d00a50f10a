"""What is particular to git: several refs in one push, pushes that fail by themselves, and fetches."""

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults import Fault
from tests.faults.git import GitFaults
from tests.faults.servers import bare_repository


@pytest.fixture
def repository() -> Iterator[Path]:
    """A bare repository of its own."""
    with bare_repository() as one:
        yield one


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with two commits that are not in the bare one."""
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    for message in ("one", "two"):
        git(tmp_path, "commit", "--quiet", "--allow-empty", f"--message={message}")
    return tmp_path


def git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs git in this folder, as nobody in particular."""
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=30)


async def push(folder: Path, *arguments: str) -> int:
    """The exit code of one push."""
    return (await asyncio.to_thread(git, folder, "push", "--quiet", *arguments)).returncode


def refs(repository: Path) -> list[str]:
    """The names of all refs, sorted."""
    return git(repository, "for-each-ref", "--format=%(refname)").stdout.split()


@pytest.mark.parametrize("atomic", [["--atomic"], []])
async def test_a_push_of_two_refs_is_one_call(repository: Path, clone: Path, atomic: list[str]) -> None:
    """Its reply is lost only after both refs are there, in one transaction or in two."""
    async with GitFaults(repository) as faults:
        await faults.plan("create", [Fault.DROP_AFTER])
        assert await push(clone, *atomic, faults.url, "main:refs/heads/a", "main:refs/owners/a") != 0
        assert refs(repository) == ["refs/heads/a", "refs/owners/a"]
        assert [seen.call for seen in faults.calls()] == ["refs/heads/a refs/owners/a"]


async def test_creating_updating_and_deleting(repository: Path, clone: Path) -> None:
    """A push is named by what it does; a deletion beside a creation counts as a deletion."""
    async with GitFaults(repository) as faults:
        await push(clone, faults.url, "main~1:refs/heads/a")
        await push(clone, faults.url, "main:refs/heads/a")
        await push(clone, faults.url, ":refs/heads/a", "main:refs/gone/a")
        await faults.clear()
        assert refs(repository) == ["refs/gone/a"]
        await faults.plan("delete", [Fault.REFUSE])
        assert await push(clone, faults.url, ":refs/gone/a") != 0
        assert refs(repository) == ["refs/gone/a"]


async def test_the_log_names_each_push(repository: Path, clone: Path) -> None:
    """Create, update and delete are in the log, in their order."""
    async with GitFaults(repository) as faults:
        for ref in ("main~1:refs/heads/a", "main:refs/heads/a", ":refs/heads/a"):
            assert await push(clone, faults.url, ref) == 0
        assert [seen.operation for seen in faults.calls()] == ["create", "update", "delete"]
        assert all(seen.acted for seen in faults.calls())


async def test_a_push_that_fails_by_itself(repository: Path, clone: Path) -> None:
    """A ref that can't be made is logged as a call that did not act, and its fault is not met."""
    async with GitFaults(repository) as faults:
        assert await push(clone, faults.url, "main:refs/heads/a") == 0
        await faults.plan("create", [Fault.DROP_AFTER])
        assert await push(clone, faults.url, "main:refs/heads/a/b") != 0
        seen = faults.calls()[-1]
        assert (seen.fault, seen.answer, seen.acted) == (Fault.DROP_AFTER, "rejected", False)


async def test_other_ways_in_are_free(repository: Path, clone: Path) -> None:
    """Fetches without a plan, and pushes past the server, meet no fault; the repository has no hook of ours."""
    async with GitFaults(repository) as faults:
        await faults.plan("create", [Fault.REFUSE])
        assert await push(clone, str(repository), "main:refs/heads/past") == 0
        listed = await asyncio.to_thread(git, clone, "ls-remote", faults.url)
        assert "refs/heads/past" in listed.stdout
        fetched = await asyncio.to_thread(git, clone, "fetch", "--quiet", faults.url, "past:refs/x/past")
        assert fetched.returncode == 0, fetched.stderr
        assert [(seen.operation, seen.fault) for seen in faults.calls()] == [("fetch", None)] * 2
    assert not [hook for hook in (repository / "hooks").glob("*") if hook.suffix != ".sample"]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault.REFUSE, "access denied"),
        (Fault.UNAVAILABLE, "too many requests"),
        (Fault.ERROR_AFTER, "service unavailable"),
        (Fault.DROP_AFTER, "Could not read from remote repository"),
        (Fault.GARBAGE, "protocol error"),
    ],
)
async def test_a_read_fails_as_planned_and_once(
    repository: Path, clone: Path, fault: Fault, words: str
) -> None:
    """Git itself says what became of it, and the next read is served."""
    assert await push(clone, str(repository), "main:refs/heads/a") == 0
    async with GitFaults(repository) as faults:
        await faults.plan("fetch", [fault])
        failed = await asyncio.to_thread(git, clone, "ls-remote", faults.url)
        assert (failed.returncode, words in failed.stderr) == (128, True), failed.stderr
        served = await asyncio.to_thread(git, clone, "ls-remote", faults.url)
        assert "refs/heads/a" in served.stdout
        assert [(seen.fault, seen.under_way) for seen in faults.calls()] == [(fault, False), (None, False)]


async def test_a_read_stands_at_the_gate(repository: Path, clone: Path) -> None:
    """Released it is served; one whose client goes first is over."""
    assert await push(clone, str(repository), "main:refs/heads/a") == 0
    async with GitFaults(repository) as faults:
        await faults.plan("fetch", [Fault.HOLD])
        reading = asyncio.create_task(asyncio.to_thread(git, clone, "ls-remote", faults.url))
        await faults.held()
        await faults.release()
        assert "refs/heads/a" in (await reading).stdout
        await faults.plan("fetch", [Fault.HANG_BEFORE])
        process = await asyncio.create_subprocess_exec(
            "git", "ls-remote", faults.url, start_new_session=True, stderr=asyncio.subprocess.DEVNULL
        )
        await faults.held()
        process.kill()
        await process.wait()
        while faults.calls()[-1].under_way:  # noqa: ASYNC110 - the log has no event
            await asyncio.sleep(0.02)
