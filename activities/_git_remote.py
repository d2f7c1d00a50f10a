"""A git remote as the branch tool sees it: refs to read, a commit to fetch, and updates that are all or nothing."""

import hashlib
import re
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from activities._git_process import GitFailed, GitProcess
from activities.settings import settings
from rescind import time_left
from rescind.evidence import NothingHappened, Refused, Unproven

_FINAL = re.compile(
    r"does not appear to be a git repository|not a git repository|[Rr]epository .*not found|not exported"
    r"|Authentication failed|[Pp]ermission denied|[Aa]ccess denied|could not read (Username|Password)"
    r"|returned error: 40[0134]|unsupported protocol|transport '.*' not allowed|Host key verification failed"
)
"""What a remote that will say the same the next time writes."""

_NEVER_REACHED = re.compile(
    r"^(fatal: unable to (connect to|look up) |ssh: (connect to host|Could not resolve hostname) "
    r"|fatal: unable to access .*: (Failed to connect|Couldn't connect|Could not resolve))",
    re.MULTILINE,
)
"""Lines of git and ssh themselves, never of the remote, which are written before anything was sent to it."""

_MAY_PASS_LATER = re.compile(r"stale info|atomic|lock|failed to update ref|unpacker|already exists")
_REPORT = re.compile(r"^([ +*=!-])\t[^\t]*:([^\t]+)\t(.*)$", re.MULTILINE)
_RESERVE = 0.5
"""Seconds of the attempt that are kept for what comes after git."""

_SHORTEST_PUSH = 2.0
"""A push that could not have this many seconds is not begun, since being cut off it would prove nothing."""


@dataclass(frozen=True, slots=True)
class Update:
    """A ref, the object that it has to point at now, and the one it is to point at; None is no ref."""

    ref: str
    old: str | None
    new: str | None


class GitRemote:
    """One remote, with a temporary repository of no content to work from; made by `git_remote`."""

    def __init__(self, process: GitProcess) -> None:
        self._git = process

    def refs(self, *names: str) -> dict[str, str]:
        """What these refs point at now, without those that do not exist; `name^{}` peels an annotated tag.

        Raises:
            GitFailed: The remote could not be read.
        """
        listed = self._run("ls-remote", "--quiet", "origin", *names).splitlines()
        found = {name: oid for oid, _, name in (line.partition("\t") for line in listed)}
        return {name: found[name] for name in names if name in found}

    def fetch(self, ref: str, length: int) -> str:
        """The commit that this ref leads to; nothing else of the history is fetched where the remote can do that.

        Args:
            ref: The full name of the ref.
            length: The length of the remote's object names, which tells how they are hashed.
        """
        self._begin(length)
        options = ("--quiet", "--depth=1", "--filter=tree:0", "--no-tags", "--no-write-fetch-head")
        self._run("fetch", *options, "origin", f"+{ref}:refs/rescind/base")
        return self._run("rev-parse", "--verify", "refs/rescind/base^{commit}").strip()

    def write_tag(self, content: bytes) -> str:
        """Write a tag object into the temporary repository and return its name."""
        draft = self._git.directory / "tag"
        draft.write_bytes(content)
        return self._run("hash-object", "-t", "tag", "-w", str(draft)).strip()

    def push(self, *updates: Update) -> frozenset[str]:
        """Update all these refs or none, each only if it still is as it has to be.

        Returns:
            The refs that were as wanted already, and which git therefore left out, unlooked-at by the remote.

        Raises:
            NothingHappened: No ref was updated; another attempt may succeed.
            Refused: No ref was updated, and none will be.
            GitFailed: It is not known whether they were updated.
        """
        if time_left() < _SHORTEST_PUSH:
            raise NothingHappened("reading the remote took all the time of this attempt. Nothing was pushed")
        leases = [f"--force-with-lease={update.ref}:{update.old or ''}" for update in updates]
        specs = [f"{update.new or ''}:{update.ref}" for update in updates]
        self._begin(len(updates[0].new or updates[0].old or ""))
        try:
            said = self._run("push", "--porcelain", "--no-verify", "--atomic", *leases, "origin", *specs)
        except GitFailed as error:
            _raise_if_nothing_happened(error, {update.ref for update in updates})
            raise
        return frozenset(ref for flag, ref, _ in _REPORT.findall(said) if flag == "=")

    def withdraw(self, *updates: Update) -> None:
        """Take a push back. When that fails, whatever the reason, the push stands, and the error says only that.

        Raises:
            Unproven: The push may still stand.
        """
        try:
            self.push(*updates)
        except (NothingHappened, Refused, GitFailed) as error:
            refs = ", ".join(update.ref for update in updates)
            raise Unproven(
                f"{refs} was pushed and could not be taken back: {error}. Delete it by hand"
            ) from error

    def _begin(self, length: int) -> None:
        """Make the temporary repository, once, with object names of this length."""
        if not self._git.directory.exists():
            hashing = "sha256" if length == hashlib.sha256().digest_size * 2 else "sha1"
            self._run("init", "--quiet", "--bare", "--template=", f"--object-format={hashing}")

    def _run(self, *words: str) -> str:
        return self._git.run(*words, seconds=max(0.1, time_left() - _RESERVE))


@contextmanager
def git_remote(alias: str) -> Generator[GitRemote, None, None]:
    """The remote that the worker knows under this name.

    Raises:
        Refused: The worker knows no such remote, or has no usable git.
    """
    url = settings().git_remote(alias)
    with tempfile.TemporaryDirectory(prefix="rescind-git-") as directory:
        yield GitRemote(GitProcess(Path(directory) / "bare", url, f"the remote {alias!r}"))


@contextmanager
def before_pushing() -> Generator[None, None, None]:
    """While the remote is only read, no failure can have changed it."""
    try:
        yield
    except GitFailed as error:
        message = f"{error}. The remote is unchanged"
        raise (Refused if _FINAL.search(error.said) else NothingHappened)(message) from error


def object_name(kind: str, content: bytes, length: int) -> str:
    """The name that git gives an object of this kind and content, in hexadecimal digits of this number."""
    hashed = b"%s %d\0%s" % (kind.encode(), len(content), content)
    algorithm = hashlib.sha256 if length == hashlib.sha256().digest_size * 2 else hashlib.sha1
    return algorithm(hashed).hexdigest()


def _raise_if_nothing_happened(error: GitFailed, refs: set[str]) -> None:
    if "does not support --atomic" in error.said:
        raise Refused(
            "the remote can't update two refs at once (git push --atomic), so a branch on it could not be proven to "
            "be ours. Nothing was pushed. Set receive.advertiseAtomic there, or use a remote that can"
        ) from error
    if _NEVER_REACHED.search(error.said):
        raise NothingHappened(f"{error}. Nothing was pushed") from error
    reports = {ref: reason for flag, ref, reason in _REPORT.findall(error.output) if flag == "!"}
    if set(reports) != refs or not all("rejected]" in reason for reason in reports.values()):
        return
    final = [reason for reason in reports.values() if not _MAY_PASS_LATER.search(reason)]
    message = f"the remote rejected the push: {'; '.join(sorted({*reports.values()}))}. No ref was updated"
    raise (Refused if final else NothingHappened)(f"{message} ({error.said})") from error
