"""Local stand-ins for every outside system: real servers on loopback that need nothing but pip."""

from embedded.environment import addresses, adopt, environment, isolated, require_loopback, require_stand_ins
from embedded.errors import AlreadyRunningError, NotLoopbackError, StandInError, StandInFailedError
from embedded.stack import Stack
from embedded.state import Description, Service, running

__all__ = [
    "AlreadyRunningError",
    "Description",
    "NotLoopbackError",
    "Service",
    "Stack",
    "StandInError",
    "StandInFailedError",
    "addresses",
    "adopt",
    "environment",
    "isolated",
    "require_loopback",
    "require_stand_ins",
    "running",
]
