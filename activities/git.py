"""Git branches on any remote, through the git command line."""

import re
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from temporalio import activity

from activities._git_remote import Update, before_pushing, git_remote, object_name
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
)
from rescind.evidence import Conflict, Refused, Unproven

_IMPOSSIBLE = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^/|/$|\.$|(^|/)\.|\.lock(/|$)|^-|^HEAD$|^@$")
"""What `git check-ref-format` and `git branch` refuse in the name of a branch."""


def _ref_name(name: str) -> str:
    found = _IMPOSSIBLE.search(name)
    if found:
        raise ValueError(
            f"git allows no branch of the name {name!r}, because of {found.group() or 'its form'!r}"
        )
    return name


RefName = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_ref_name)]


class CreateBranch(Request):
    """Create a branch.

    Attributes:
        remote: The name under which the worker knows the remote.
        branch: The branch's name; a branch that exists is never taken over.
        from_ref: The branch, tag, or full name of a ref that it starts from.
    """

    remote: str
    branch: RefName
    from_ref: RefName = "main"


class Branch(Result):
    """A branch that was created, and the commit that it was created at."""

    remote: str
    branch: str
    commit: str


class NoBranch(BaseModel):
    """The before-image: there was no such branch when this commit was about to become one."""

    model_config = ConfigDict(frozen=True)

    commit: str


@activity.defn(no_thread_cancel_exception=True)
def create_branch(call: Call[CreateBranch]) -> Branch:
    """Create the branch and, in the same atomic push, the marker that proves that this call did.

    Raises:
        Refused: There is such a branch, there is no such `from_ref`, or the remote does not want it.
        NothingHappened: The remote could not be read, or a ref moved meanwhile.
        GitFailed: It is not known whether the branch was created.
    """
    wanted, branch, marker = call.request, _branch_ref(call), _marker_ref(call)
    with git_remote(wanted.remote) as remote:
        with before_pushing():
            refs = remote.refs(branch, marker, f"{marker}^{{}}", *_sources(wanted.from_ref))
            made = _made(call, refs)
            if made and branch in refs:
                return made
            _refuse_unless_free(call, refs)
            source = _source(wanted, refs)
            commit = remote.fetch(source, len(refs[source]))
            tag = remote.write_tag(_marker(call, commit))
        remember_blocking(NoBranch(commit=commit))
        # The marker goes first: a server that is killed between two refs then leaves no unmarked branch.
        there = remote.push(Update(marker, None, tag), Update(branch, None, commit))
        if branch in there and marker not in there:
            remote.withdraw(Update(marker, tag, None))
            raise Refused(f"{_named(call)} was created by someone else meanwhile. Nothing of ours is left")
    return Branch(remote=wanted.remote, branch=wanted.branch, commit=commit)


@activity.defn(no_thread_cancel_exception=True)
def delete_branch(receipt: Receipt[CreateBranch, Branch]) -> Restoration:
    """Delete the branch and its marker in one atomic push, if the branch is ours and still where it was created.

    Raises:
        Conflict: The branch has moved, or is not proven to be ours. Nothing was deleted.
    """
    call, made = receipt.call, receipt.result
    branch, marker = _branch_ref(call), _marker_ref(call)
    tag = object_name("tag", _marker(call, made.commit), len(made.commit))
    with git_remote(call.request.remote) as remote:
        refs = remote.refs(branch, marker)
        if branch not in refs and marker not in refs:
            return Restoration.nothing(f"{_named(call)} and its marker are gone already")
        if refs.get(marker) != tag:
            raise Conflict(
                f"{_named(call)} is not proven to be the one that this step created: its marker {marker} is "
                f"{refs.get(marker, 'missing')}. Nothing was deleted. Delete the branch by hand if it is yours"
            )
        if branch not in refs:
            remote.push(Update(marker, tag, None))
            return Restoration.nothing(f"{_named(call)} had been deleted already; its marker is removed")
        if refs[branch] != made.commit:
            raise Conflict(
                f"{_named(call)} was created at {made.commit} and is at {refs[branch]} now: someone has pushed to "
                "it. Nothing was deleted. Keep the branch, or delete it by hand"
            )
        # The marker goes last, for the same reason.
        remote.push(Update(branch, made.commit, None), Update(marker, tag, None))
    return Restoration.exact()


@activity.defn(no_thread_cancel_exception=True)
def find_branch(call: Call[CreateBranch]) -> Applied[Branch] | Absent | Unknown:
    """Ask the remote whether this call created the branch; believed absent only with neither branch nor marker.

    Raises:
        GitFailed: The remote could not be read.
    """
    branch, marker = _branch_ref(call), _marker_ref(call)
    with git_remote(call.request.remote) as remote:
        refs = remote.refs(branch, marker, f"{marker}^{{}}")
    made = _made(call, refs)
    if made and branch in refs:
        return Applied(result=made)
    if marker in refs:
        return Unknown(
            why=f"{marker} says that {_named(call)} was created, and it does not fit what is there now"
        )
    if branch in refs and remembered(NoBranch):
        return Unknown(
            why=f"{_named(call)} came into being during this step without our marker: it is another's, or its "
            f"marker {marker} was deleted"
        )
    return Absent()


CREATE_BRANCH = Tool(
    name="git.create_branch",
    description="Create a branch on a git remote; the undo deletes it unless someone has pushed to it.",
    forward=create_branch,
    compensate=delete_branch,
    lookup=find_branch,
    is_reversible=True,
    acts_on=("git/{remote}/{branch}",),
    risk=Risk.LOW,
    timeout=timedelta(seconds=10),
    undo_timeout=timedelta(seconds=10),
    # GitHub Enterprise gives all pre-receive hooks of a push five seconds together, whether or not the client is
    # still there (its page "About pre-receive hooks"); no other host was found to say how late a push may land.
    late_for=timedelta(seconds=5),
)


def _branch_ref(call: Call[CreateBranch]) -> str:
    return f"refs/heads/{call.request.branch}"


def _marker_ref(call: Call[CreateBranch]) -> str:
    return f"refs/rescind/{call.key}"


def _named(call: Call[CreateBranch]) -> str:
    return f"the branch {call.request.branch!r} of the remote {call.request.remote!r}"


def _marker(call: Call[CreateBranch], commit: str) -> bytes:
    """A tag object that says which call made which branch at which commit; its name proves all three."""
    return (
        f"object {commit}\ntype commit\ntag {call.key}\ntagger Rescind <rescind@localhost> 0 +0000\n\n"
        f"created {_branch_ref(call)}\n"
    ).encode()


def _made(call: Call[CreateBranch], refs: dict[str, str]) -> Branch | None:
    """The branch that the marker proves this call to have made; it may have moved since."""
    marker = _marker_ref(call)
    commit = refs.get(f"{marker}^{{}}")
    if commit is None or refs[marker] != object_name("tag", _marker(call, commit), len(commit)):
        return None
    return Branch(remote=call.request.remote, branch=call.request.branch, commit=commit)


def _refuse_unless_free(call: Call[CreateBranch], refs: dict[str, str]) -> None:
    if _marker_ref(call) in refs:
        raise Unproven(
            f"{_marker_ref(call)} says that this step created {_named(call)}, and it does not fit what is there "
            "now. This attempt changed nothing. Look at the remote, and delete the marker if it is of no use"
        )
    if _branch_ref(call) in refs:
        raise Refused(
            f"{_named(call)} exists already, so it is not ours to create or to delete later. Nothing was changed. "
            "Choose another name, or delete that branch first"
        )


def _sources(from_ref: str) -> list[str]:
    if from_ref.startswith("refs/"):
        return [from_ref]
    return [f"refs/heads/{from_ref}", f"refs/tags/{from_ref}"]


def _source(wanted: CreateBranch, refs: dict[str, str]) -> str:
    for ref in _sources(wanted.from_ref):
        if ref in refs:
            return ref
    raise Refused(
        f"the remote {wanted.remote!r} has no branch or tag {wanted.from_ref!r} to start from. Nothing was changed. "
        "Name one that it has"
    )
