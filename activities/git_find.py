"""The tool that reads where a branch of a git remote is; it changes nothing."""

from __future__ import annotations

from datetime import timedelta

from temporalio import activity

from activities._git_remote import before_pushing, git_remote
from activities.git import RefName
from rescind import Call, Request, Result, Tool
from rescind.evidence import Refused


class FindBranch(Request):
    """Read a branch of a remote that the worker knows by this alias."""

    remote: str
    branch: RefName


class FoundBranch(Result):
    """A branch and the commit that it points at."""

    remote: str
    branch: str
    commit: str


@activity.defn(no_thread_cancel_exception=True)
def read_branch(call: Call[FindBranch]) -> FoundBranch:
    """Ask the remote where the branch is.

    Raises:
        Refused: There is no such branch, or the remote says for good that it can't be read.
        NothingHappened: The remote could not be read now.
    """
    asked = call.request
    ref = f"refs/heads/{asked.branch}"
    with git_remote(asked.remote) as remote, before_pushing():
        refs = remote.refs(ref)
    if ref not in refs:
        raise Refused(f"the remote {asked.remote!r} has no branch {asked.branch!r}. Name one that it has")
    return FoundBranch(changed=False, remote=asked.remote, branch=asked.branch, commit=refs[ref])


FIND_BRANCH: Tool[FindBranch, FoundBranch] = Tool(
    name="git.find_branch",
    description="Read which commit a branch of a git remote is at. It fails if there is no such branch.",
    forward=read_branch,
    read_only=True,
    timeout=timedelta(seconds=8),
)
