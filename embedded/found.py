"""Lets a program use stand-ins that run already, where its environment names no server."""

from pathlib import Path

from embedded.environment import adopt, environment, require_stand_ins
from embedded.state import Description, running


def use_running(directory: Path, *, named: str | None) -> Description | None:
    """Makes this process use the running stand-ins of a folder; None where a server is named or none run.

    Nothing that leads elsewhere is left in `os.environ` then. Raises `NotLoopbackError` if one of their addresses
    leads away from this machine.
    """
    if named is not None:
        return None
    found = running(directory)
    if found is not None:
        use(found)
    return found


def use(found: Description) -> None:
    """Makes these stand-ins the whole outside world of this process."""
    settings = environment(found)
    require_stand_ins(settings)
    adopt(settings)
