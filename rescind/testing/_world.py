"""What a check is told of the outside world: how to look at it, and what somebody else can do in it."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class World(Protocol):
    """What a tool writes to, seen from outside, past the tool; only `snapshot` is needed.

    The further methods are what other people do there. A world has those that make sense for its tool: the
    law that needs one it does not have is not applicable, and the certificate says so. Look and act
    with another client than the tool's, since the same one would repeat the tool's mistakes.
    """

    async def snapshot(self) -> Any:
        """Everything that the tool could change, as a value that is compared with `==`."""
        ...


@runtime_checkable
class Described(Protocol):
    """A world that says what its snapshots hold; otherwise the certificate has its class's docstring."""

    compares: str


@runtime_checkable
class Resettable(Protocol):
    """A world that can be put back to its beginning, so that what one law leaves is not seen by the next."""

    async def reset(self) -> None:
        """Be as in the beginning; called before each law. The request is asked for anew after it."""
        ...


@runtime_checkable
class Meaningful(Protocol):
    """A world in which two different snapshots can mean the same; needed for the grade `equivalent`."""

    def meaning(self, snapshot: Any) -> Any:
        """What of a snapshot people depend on, as a value that is compared with `==`."""
        ...


@runtime_checkable
class Disturbed(Protocol):
    """A world in which somebody else can change what the step has made."""

    async def disturb(self) -> None:
        """Change what the step has made, so that taking it away would destroy somebody's work."""
        ...


@runtime_checkable
class Removable(Protocol):
    """A world in which somebody else can take away by hand what the step has made."""

    async def take_away(self) -> None:
        """Let the world be as if the step had not been made, without the tool."""
        ...


@runtime_checkable
class Prepared(Protocol):
    """A world that can be as the request wants it before the tool is asked."""

    async def already(self) -> None:
        """Let somebody else have made what the request asks for."""
        ...


def described(world: World) -> str:
    """What the world's snapshots hold, in words."""
    if isinstance(world, Described):
        return world.compares
    return (type(world).__doc__ or type(world).__name__).strip().splitlines()[0].rstrip(".")
