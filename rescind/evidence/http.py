"""What httpx's errors and a server's status codes prove.

Sources: RFC 9110, 9.2.2 (a client can't tell whether a POST that got no answer was applied) and 15 (status
codes); RFC 6585, 4 (429); RFC 8470, 5.2 (425: the server did not want to process the request).
"""

import httpx

from rescind.evidence._core import NOTHING, REFUSED, Evidence
from rescind.evidence._status import proves_status

__all__ = ["proves", "proves_status"]

_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)
"""The request is only written once there is a connection, TLS and a proxy's tunnel included."""

_IMPOSSIBLE = (httpx.UnsupportedProtocol, httpx.InvalidURL)


def proves(error: BaseException) -> Evidence | None:
    """What an httpx error proves; None is nothing."""
    if isinstance(error, httpx.HTTPStatusError):
        return proves_status(error.response.status_code, error.response.headers)
    if isinstance(error, _IMPOSSIBLE):
        return REFUSED
    return NOTHING if isinstance(error, _NOT_SENT) else None
