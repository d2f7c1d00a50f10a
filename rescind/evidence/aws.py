"""What boto3's errors prove: AWS says by a status and a code whether it took a request.

Sources: the error responses of S3's API reference, whose "error best practices" say that a request answered
by InternalError may have been processed, and do not say of SlowDown, a 5xx too, that it was not; and for the
moment at which an error of the connection is raised, botocore's `httpsession.py` and urllib3's `connection.py`.
"""

import ssl
from collections.abc import Iterator
from typing import Any

from botocore import exceptions

from rescind.evidence._core import NOTHING, REFUSED, UNKNOWN, Evidence

_THROTTLED = frozenset(
    {
        "BandwidthLimitExceeded",
        "EC2ThrottledException",
        "LimitExceededException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
"""The codes that botocore's own retries take for throttling; below 500 they are answers to a request not taken."""

_PROVES_NOTHING = frozenset({"RequestTimeout", "RequestTimeoutException", "OperationAborted"})
"""Said with 400 or 409; the first by a server that gave up reading, which may be in mid-request."""

_NEVER_SENT = (
    exceptions.EndpointConnectionError,  # refused, unreachable, or no such name: raised where the socket is opened
    exceptions.ConnectTimeoutError,  # the TCP handshake took too long, so that no byte of the request was written
    exceptions.ProxyConnectionError,  # urllib3 raises it only while it has not connected to the proxy
    exceptions.CredentialRetrievalError,
    exceptions.TokenRetrievalError,
    exceptions.MetadataRetrievalError,
)
"""Raised before a request is sent, and perhaps not the next time."""

_NEVER_SENDABLE = (
    exceptions.ParamValidationError,
    exceptions.NoCredentialsError,
    exceptions.PartialCredentialsError,
    exceptions.NoRegionError,
    exceptions.InvalidRegionError,
    exceptions.ProfileNotFound,
    exceptions.ConfigNotFound,
    exceptions.ConfigParseError,
    exceptions.InvalidEndpointConfigurationError,
    exceptions.UnknownServiceError,
)
"""Raised before a request is sent, by what will be the same the next time."""


def proves(error: BaseException) -> Evidence | None:
    """What an error of boto3 proves about the one request that it answers; None for an error of someone else.

    It says nothing of the requests before: an activity that sends several says itself what they left.
    """
    if isinstance(error, exceptions.ClientError):
        return _answered(error.response)
    if not isinstance(error, exceptions.BotoCoreError):
        return None
    if isinstance(error, _NEVER_SENT):
        return NOTHING
    if isinstance(error, _NEVER_SENDABLE) or any(
        isinstance(cause, ssl.SSLCertVerificationError) for cause in _causes(error)
    ):
        return REFUSED
    return UNKNOWN


def _answered(response: Any) -> Evidence:
    code = str(response.get("Error", {}).get("Code", ""))
    metadata = response.get("ResponseMetadata", {})
    status = int(metadata.get("HTTPStatusCode", 500))
    wait = _seconds(metadata.get("HTTPHeaders", {}).get("retry-after"))
    if status in (408, 409) or status >= 500 or status < 300 or code in _PROVES_NOTHING:
        return UNKNOWN.after(wait)
    if status in (425, 429) or code in _THROTTLED:
        return NOTHING.after(wait)
    return REFUSED


def _seconds(retry_after: str | None) -> float | None:
    """Seconds to wait; a date, which AWS does not send, is passed over."""
    return float(retry_after) if retry_after and retry_after.isdecimal() else None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what it was made from: botocore keeps that in `kwargs`, urllib3 in `reason` or as a cause."""
    seen: list[BaseException | None] = [error]
    while seen:
        each = seen.pop()
        if each is None:
            continue
        yield each
        inner = (getattr(each, "kwargs", {}).get("error"), getattr(each, "reason", None), each.__cause__)
        seen.extend(cause for cause in inner if isinstance(cause, BaseException))
        seen.extend(cause for cause in each.args if isinstance(cause, BaseException))
