"""git.create_branch against real bare repositories and a real git server."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue, ValidationError

from activities.git import CREATE_BRANCH, Branch, CreateBranch, create_branch, delete_branch, find_branch
from rescind import Absent, Applied, Call, Grade, Receipt, Unknown
from rescind.evidence import NOTHING, REFUSED, Conflict, Evidence, Refused, weigh
from tests.activities.attempts import Remembering
from tests.faults import Fault
from tests.faults.git import GitFaults

CLEAN = {
    "PATH": os.environ["PATH"],
    "LC_ALL": "C",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_{what}": "someone" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def git(repository: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", f"--git-dir={repository}", *words], env=CLEAN, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def snapshot(repository: Path) -> str:
    return git(repository, "for-each-ref", "--format=%(refname) %(objectname)")


def commit(repository: Path, ref: str, message: str, *parents: str) -> str:
    tree = git(repository, "hash-object", "-t", "tree", "-w", os.devnull)
    flags = [word for parent in parents for word in ("-p", parent)]
    made = git(repository, "commit-tree", tree, "-m", message, *flags)
    git(repository, "update-ref", ref, made)
    return made


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    repository = tmp_path / "app.git"
    git(repository, "init", "--quiet", "--bare", "--template=")
    commit(repository, "refs/heads/main", "second", commit(repository, "refs/heads/main", "first"))
    known_as(monkeypatch, str(repository))
    return repository


def known_as(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("RESCIND_GIT_REMOTES", f'{{"app": "{url}"}}')


def asked(branch: str = "feature/x", key: str = "key-1", from_ref: str = "main") -> Call[CreateBranch]:
    request = CreateBranch(remote="app", branch=branch, from_ref=from_ref)
    return Call[CreateBranch](request=request, key=key, undo_key=f"undo-{key}")


def receipt(call: Call[CreateBranch], made: Branch) -> Receipt[CreateBranch, Branch]:
    before: JsonValue = {"commit": made.commit}
    return Receipt[CreateBranch, Branch](call=call, before=before, result=made)


def hook(repository: Path, name: str, script: str) -> None:
    (repository / "hooks").mkdir(exist_ok=True)
    path = repository / "hooks" / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_a_branch_is_created_and_found_and_undone_without_a_trace(bare: Path) -> None:
    """The branch is at main's commit, the lookup agrees with the result, and the undo restores every ref."""
    before = snapshot(bare)
    made = create_branch(asked())
    assert git(bare, "rev-parse", "refs/heads/feature/x") == made.commit == git(bare, "rev-parse", "main")
    assert find_branch(asked()) == Applied(result=made)
    assert delete_branch(receipt(asked(), made)).grade is Grade.EXACT
    assert snapshot(bare) == before
    assert find_branch(asked()) == Absent()


def test_the_same_call_twice_is_one_branch(bare: Path) -> None:
    """The second attempt recognises its own work and answers the same, although main has moved."""
    first = create_branch(asked())
    after = snapshot(bare)
    commit(bare, "refs/heads/main", "third", first.commit)
    assert create_branch(asked()) == first
    assert git(bare, "rev-parse", "refs/heads/feature/x") == first.commit
    assert after.splitlines()[0] in snapshot(bare)


def test_a_branch_that_was_there_is_refused_and_survives_the_undo(bare: Path) -> None:
    """It is never claimed, not even at the same commit, nor when another call of ours made it."""
    made = create_branch(asked(key="another"))
    before = snapshot(bare)
    with pytest.raises(Refused, match="exists already"):
        create_branch(asked())
    assert find_branch(asked()) == Absent()
    with pytest.raises(Conflict, match="not proven"):
        delete_branch(receipt(asked(), made))
    assert snapshot(bare) == before


def test_an_undo_twice_and_an_undo_of_nothing_are_success(bare: Path) -> None:
    """A second undo, and one whose step never happened, find the world restored."""
    before = snapshot(bare)
    made = create_branch(asked())
    delete_branch(receipt(asked(), made))
    assert delete_branch(receipt(asked(), made)).grade is Grade.NOTHING
    assert delete_branch(receipt(asked("never", "key-2"), made)).grade is Grade.NOTHING
    assert snapshot(bare) == before


def test_somebody_pushed_to_the_branch(bare: Path) -> None:
    """A conflict that names both commits; nothing is deleted; the lookup still says that we made it."""
    made = create_branch(asked())
    theirs = commit(bare, "refs/heads/feature/x", "theirs", made.commit)
    moved = snapshot(bare)
    with pytest.raises(Conflict, match=f"{made.commit} and is at {theirs}"):
        delete_branch(receipt(asked(), made))
    assert snapshot(bare) == moved
    assert find_branch(asked()) == Applied(result=made)


def test_somebody_deleted_the_branch(bare: Path) -> None:
    """The undo removes what is left of ours, the marker, and counts as success."""
    before = snapshot(bare)
    made = create_branch(asked())
    git(bare, "update-ref", "-d", "refs/heads/feature/x")
    assert isinstance(find_branch(asked()), Unknown)
    assert delete_branch(receipt(asked(), made)).grade is Grade.NOTHING
    assert snapshot(bare) == before


async def test_a_branch_without_our_marker_after_an_attempt(bare: Path) -> None:
    """When an attempt was about to push and an unmarked branch is there, nobody guesses whose it is."""
    ledger = Remembering()
    made = await ledger.run(create_branch, asked())
    git(bare, "update-ref", "-d", "refs/rescind/key-1")
    assert isinstance(await ledger.run(find_branch, asked()), Unknown)
    with pytest.raises(Conflict, match="missing"):
        delete_branch(receipt(asked(), made))
    assert git(bare, "rev-parse", "refs/heads/feature/x") == made.commit


def test_a_branch_from_a_tag_and_from_a_full_ref(bare: Path) -> None:
    """An annotated tag leads to its commit; a full name of a ref is taken as it is."""
    first = git(bare, "rev-parse", "main~1")
    git(bare, "tag", "-a", "v1", "-m", "one", first)
    assert create_branch(asked("a", "key-a", "v1")).commit == first
    assert create_branch(asked("b", "key-b", "refs/heads/a")).commit == first


def test_nothing_to_start_from(bare: Path) -> None:
    """A `from_ref` that the remote does not have is refused, and nothing is left on the remote."""
    before = snapshot(bare)
    with pytest.raises(Refused, match="no branch or tag 'gone'"):
        create_branch(asked(from_ref="gone"))
    assert snapshot(bare) == before


def test_an_unknown_remote_and_one_that_is_not_there(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are refused; the first names what is known, neither shows an address."""
    with pytest.raises(Refused, match=re.escape("(known: app)")):
        create_branch(Call[CreateBranch](request=CreateBranch(remote="x", branch="b"), key="k", undo_key="u"))
    known_as(monkeypatch, str(bare.parent / "secret-place.git"))
    with pytest.raises(Refused, match="the remote 'app'") as caught:
        create_branch(asked())
    assert "secret-place" not in str(caught.value)


def test_a_remote_without_atomic_pushes(bare: Path) -> None:
    """It is refused with what to set there, and nothing is pushed."""
    before = snapshot(bare)
    git(bare, "config", "receive.advertiseAtomic", "false")
    with pytest.raises(Refused, match=re.escape("receive.advertiseAtomic")):
        create_branch(asked())
    assert snapshot(bare) == before


def test_a_repository_of_sha256(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The remote's own object format is used."""
    repository = tmp_path / "long.git"
    git(repository, "init", "--quiet", "--bare", "--template=", "--object-format=sha256")
    commit(repository, "refs/heads/main", "first")
    known_as(monkeypatch, str(repository))
    before = snapshot(repository)
    made = create_branch(asked())
    assert len(made.commit) == 64
    assert find_branch(asked()) == Applied(result=made)
    assert delete_branch(receipt(asked(), made)).grade is Grade.EXACT
    assert snapshot(repository) == before


def test_the_users_git_configuration_does_not_matter(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Signing, hooks, rewritten addresses, a forbidden protocol and planted variables change nothing."""
    home = tmp_path / "home"
    hooks = home / "hooks"
    hooks.mkdir(parents=True)
    for name in ("pre-push", "reference-transaction"):
        (hooks / name).write_text("#!/bin/sh\nexit 1\n")
        (hooks / name).chmod(0o755)
    (home / ".gitconfig").write_text(
        f"[core]\n hooksPath={hooks}\n[push]\n gpgSign=true\n[commit]\n gpgSign=true\n[tag]\n gpgSign=true\n"
        f'[protocol]\n allow=never\n[url "/nowhere"]\n insteadOf={bare.parent}\n pushInsteadOf={bare.parent}\n'
    )
    for name, value in {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home),
        "GIT_DIR": "/nowhere",
        "GIT_WORK_TREE": "/nowhere",
        "GIT_INDEX_FILE": "/nowhere",
        "GIT_ALLOW_PROTOCOL": "https",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "protocol.allow",
        "GIT_CONFIG_VALUE_0": "never",
        "GIT_CONFIG_PARAMETERS": "'protocol.allow'='never'",
        "GIT_NAMESPACE": "elsewhere",
        "LC_ALL": "xx_XX.UTF-8",
    }.items():
        monkeypatch.setenv(name, value)
    before = snapshot(bare)
    made = create_branch(asked())
    assert git(bare, "rev-parse", "refs/heads/feature/x") == made.commit
    assert delete_branch(receipt(asked(), made)).grade is Grade.EXACT
    assert snapshot(bare) == before


def test_a_hook_that_declines_the_branch_and_its_undo(bare: Path) -> None:
    """The hooks of the remote run: the push is refused whole, without even the marker, and so is the deletion."""
    before = snapshot(bare)
    hook(bare, "update", 'case "$1" in refs/heads/*) echo "not today" >&2; exit 1;; esac')
    with pytest.raises(Refused, match=r"hook declined.*not today"):
        create_branch(asked())
    assert snapshot(bare) == before
    (bare / "hooks" / "update").unlink()
    made = create_branch(asked())
    after = snapshot(bare)
    hook(bare, "update", "exit 1")
    with pytest.raises(Refused, match="No ref was updated"):
        delete_branch(receipt(asked(), made))
    assert snapshot(bare) == after


def test_a_lock_on_the_remote_passes_later(bare: Path) -> None:
    """A ref that is locked proves that nothing happened and is worth another attempt, which succeeds."""
    before = snapshot(bare)
    lock = bare / "refs" / "heads" / "x.lock"
    lock.touch()
    with pytest.raises(Exception, match="atomic transaction failed") as caught:
        create_branch(asked("x"))
    assert weigh(caught.value, CREATE_BRANCH.proves) == NOTHING
    assert snapshot(bare) == before
    lock.unlink()
    assert create_branch(asked("x")).changed


async def test_a_branch_that_appears_between_the_look_and_the_push(bare: Path) -> None:
    """Git leaves a branch out that is as wanted already; the marker is taken back and theirs stays."""
    main = git(bare, "rev-parse", "main")
    created: list[str] = []
    with pytest.raises(Refused, match="someone else"):
        await _race(bare, main, created)
    assert created == [main]
    assert snapshot(bare) == f"refs/heads/feature/x {main}\nrefs/heads/main {main}"


async def _race(bare: Path, main: str, created: list[str]) -> None:
    """Another's branch appears while our before-image is stored."""
    ledger = Remembering()
    store = ledger.store

    async def slow(image: JsonValue) -> JsonValue:
        git(bare, "update-ref", "refs/heads/feature/x", main)
        created.append(main)
        return await store(image)

    ledger.store = slow  # type: ignore[method-assign]  # this ledger is slow once
    await ledger.run(create_branch, asked())


OUTCOMES = {
    Fault.REFUSE: REFUSED,
    Fault.UNAVAILABLE: None,
    Fault.ERROR_AFTER: None,
    Fault.DROP_AFTER: None,
    Fault.GARBAGE: None,
    Fault.HANG_AFTER: None,
}


@pytest.mark.parametrize("fault", OUTCOMES)
async def test_what_a_failing_remote_proves(
    bare: Path, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    """Only a report on every ref proves that nothing happened; the lookup then tells what did."""
    before = snapshot(bare)
    async with GitFaults(bare) as remote:
        known_as(monkeypatch, remote.url)
        await remote.plan("create", [fault])
        ledger = Remembering()
        with pytest.raises(Exception, match="push") as caught:
            await ledger.run(create_branch, asked(), seconds=4)
        evidence = weigh(caught.value, CREATE_BRANCH.proves)
        assert evidence == (OUTCOMES[fault] or Evidence(nothing_happened=False, try_again=True))
        await remote.release()
        found = await ledger.run(find_branch, asked())
        assert isinstance(found, Applied if fault.acts else Absent)
        if isinstance(found, Applied):
            undone = await ledger.run(delete_branch, receipt(asked(), found.result))
            assert undone.grade is Grade.EXACT
    assert snapshot(bare) == before


async def test_the_reply_to_the_undo_is_lost(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second undo finds the world restored, and that is success."""
    before = snapshot(bare)
    async with GitFaults(bare) as remote:
        known_as(monkeypatch, remote.url)
        ledger = Remembering()
        made = await ledger.run(create_branch, asked())
        await remote.plan("delete", [Fault.DROP_AFTER])
        with pytest.raises(Exception, match="push"):
            await ledger.run(delete_branch, receipt(asked(), made))
        assert snapshot(bare) == before
        assert (await ledger.run(delete_branch, receipt(asked(), made))).grade is Grade.NOTHING


def test_a_remote_that_refuses_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing happened, and another attempt may succeed."""
    known_as(monkeypatch, "git://127.0.0.1:1/app.git")
    with pytest.raises(Exception, match="The remote is unchanged") as caught:
        create_branch(asked())
    assert weigh(caught.value, CREATE_BRANCH.proves) == NOTHING


@pytest.fixture
def pushing(bare: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[bytes]]:
    """A process that creates the branch, at the moment when the remote's hook holds its push."""
    hook(bare, "pre-receive", f"echo $$ > {bare}/held; sleep 4")
    program = (
        "from activities.git import *; from rescind import Call; create_branch(Call[CreateBranch]("
        "request=CreateBranch(remote='app', branch='feature/x'), key='key-1', undo_key='undo'))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stderr=subprocess.DEVNULL,
        env=os.environ | {"TMPDIR": str(bare.parent)},
    )
    deadline = time.monotonic() + 20
    while not (bare / "held").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    yield process
    process.kill()
    process.wait()


def test_a_killed_worker_takes_its_push_along(bare: Path, pushing: subprocess.Popen[bytes]) -> None:
    """Neither git nor the hook of a local remote outlives a worker that was killed, so nothing lands later."""
    before = snapshot(bare)
    held = int((bare / "held").read_text())
    pushing.send_signal(signal.SIGKILL)
    pushing.wait()
    deadline = time.monotonic() + 3
    while _lives(held) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _lives(held)
    time.sleep(4.5)  # longer than the hook would have held the push
    assert snapshot(bare) == before
    assert find_branch(asked()) == Absent()


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text() if Path("/proc").is_dir() else True


@given(st.text(st.sampled_from("ab/.@{-~^:?*[\\ \x7f\nHEADlock\u00e9"), min_size=1, max_size=12))
def test_branch_names_are_those_that_git_allows(name: str) -> None:
    """Exactly the names that git takes for a branch pass, and none of the others begins anything."""
    words = ["git", "check-ref-format", f"refs/heads/{name}"]
    allowed = subprocess.run(words, env=CLEAN, check=False).returncode == 0
    allowed = allowed and not name.startswith("-") and name not in {"HEAD", "@"}
    try:
        CreateBranch(remote="app", branch=name)
    except ValidationError:
        assert not allowed
    else:
        assert allowed


@pytest.mark.parametrize(
    "name", ["x.lock", "a.lock/b", "-f", "HEAD", "@", "a..b", "a@{1}", ".a", "a/.b", "", "a//b"]
)
def test_a_branch_name_that_git_refuses(name: str) -> None:
    """The request itself does not come into being."""
    with pytest.raises(ValidationError):
        CreateBranch(remote="app", branch=name)
