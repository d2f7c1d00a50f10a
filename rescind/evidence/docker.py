"""What the Docker SDK's errors prove: the engine's answers by their status, the rest by where it came from.

Sources: the status codes of the Engine API's reference; and for the moment at which a connection fails, the
SDK's `transport/unixconn.py`, where connect() of the socket raises the operating system's own error.
"""

from collections.abc import Iterator

import requests
from docker import errors

from rescind.evidence._core import NOTHING, REFUSED, Evidence
from rescind.evidence._status import proves_status

_NOT_CONNECTED = (FileNotFoundError, ConnectionRefusedError, PermissionError)
"""What connect() of a unix socket raises; a connection that is cut later raises another error."""


def proves(error: BaseException) -> Evidence | None:
    """What an error of the Docker SDK proves about the one request that it answers; None is nothing."""
    if isinstance(error, errors.APIError):
        return (
            None
            if error.response is None
            else proves_status(error.response.status_code, error.response.headers)
        )
    if isinstance(error, requests.exceptions.ConnectTimeout):
        return NOTHING
    if isinstance(error, requests.exceptions.ConnectionError):
        return NOTHING if any(isinstance(cause, _NOT_CONNECTED) for cause in _causes(error)) else None
    if type(error) is errors.DockerException:
        return NOTHING  # raised by the client's constructor, which only asks for the engine's version
    return REFUSED if isinstance(error, errors.DockerException) else None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and those it wraps: requests and urllib3 hand them on as arguments."""
    yield error
    for inner in error.args:
        if isinstance(inner, BaseException):
            yield from _causes(inner)
