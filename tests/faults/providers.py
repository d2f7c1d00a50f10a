"""The HTTP providers of this application: what their calls are called, and how they say no."""

import json

from tests.faults.http_proxy import Dialect
from tests.faults.http_wire import Answer

_XML = (("Content-Type", "application/xml"),)
_JSON = (("Content-Type", "application/json"),)
_AMZ_JSON = (("Content-Type", "application/x-amz-json-1.1"),)
_TEXT = (("Content-Type", "text/plain"),)
_RETRY_AFTER = ("Retry-After", "1")

_BUCKET = r"/[^/?\s]+/?"
_OBJECT = r"/[^/?\s]+/[^?\s]+"


def _s3(status: int, code: str, message: str, *headers: tuple[str, str]) -> Answer:
    error = f"<Error><Code>{code}</Code><Message>{message}</Message><RequestId>FAULT</RequestId></Error>"
    return Answer(status, b'<?xml version="1.0" encoding="UTF-8"?>\n' + error.encode(), (*_XML, *headers))


def _ecs(status: int, code: str, message: str, *headers: tuple[str, str]) -> Answer:
    return Answer(status, json.dumps({"__type": code, "message": message}).encode(), (*_AMZ_JSON, *headers))


def _ec2(status: int, code: str, message: str, *headers: tuple[str, str]) -> Answer:
    error = f"<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors></Response>"
    return Answer(status, b'<?xml version="1.0" encoding="UTF-8"?>\n' + error.encode(), (*_XML, *headers))


def _docker(status: int, message: str, *headers: tuple[str, str]) -> Answer:
    return Answer(status, json.dumps({"message": message}).encode(), (*_JSON, *headers))


S3 = Dialect(
    operations={
        "create bucket": rf"^PUT {_BUCKET}$",
        "tag bucket": rf"^PUT {_BUCKET}\?tagging",
        "put object": rf"^PUT {_OBJECT}(\?x-id=PutObject)?$",
        "delete object": rf"^DELETE {_OBJECT}(\?|$)",
        "delete bucket": rf"^DELETE {_BUCKET}$",
    },
    refused=_s3(403, "AccessDenied", "Access Denied"),
    # S3's own answer to too many calls is 503 SlowDown, which would prove nothing; 429 is what others give.
    unavailable=_s3(429, "TooManyRequests", "Please reduce your request rate.", _RETRY_AFTER),
    broken=_s3(503, "ServiceUnavailable", "Service is unable to handle request."),
)

ECS = Dialect(
    operations={
        "register": r"\.RegisterTaskDefinition\b",
        "create service": r"\.CreateService\b",
        "update service": r"\.UpdateService\b",
        "delete service": r"\.DeleteService\b",
        "deregister": r"\.DeregisterTaskDefinition\b",
        "tag": r"\.(Tag|Untag)Resource\b",
    },
    refused=_ecs(400, "AccessDeniedException", "User is not authorized to perform this action."),
    unavailable=_ecs(429, "ThrottlingException", "Rate exceeded", _RETRY_AFTER),
    broken=_ecs(503, "ServerException", "Service Unavailable. Please try again later."),
)

EC2 = Dialect(
    operations={
        "launch": r"\bAction=RunInstances\b",
        "terminate": r"\bAction=TerminateInstances\b",
    },
    refused=_ec2(403, "UnauthorizedOperation", "You are not authorized to perform this operation."),
    unavailable=_ec2(429, "RequestLimitExceeded", "Request limit exceeded.", _RETRY_AFTER),
    broken=_ec2(503, "Unavailable", "The server is overloaded and can't handle the request."),
)

DOCKER = Dialect(
    operations={
        "create": r"^POST (/v[\d.]+)?/containers/create",
        "start": r"^POST (/v[\d.]+)?/containers/[^/]+/start",
        "stop": r"^POST (/v[\d.]+)?/containers/[^/]+/(stop|kill)",
        "rename": r"^POST (/v[\d.]+)?/containers/[^/]+/rename",
        "remove": r"^DELETE (/v[\d.]+)?/containers/[^/]+",
    },
    refused=_docker(403, "authorization denied by plugin"),
    unavailable=_docker(429, "too many requests", _RETRY_AFTER),
    broken=_docker(503, "the engine is shutting down"),
)

CHAT = Dialect(
    operations={"post": r"^POST "},
    refused=Answer(403, b"action_prohibited", _TEXT),
    unavailable=Answer(429, b"rate_limited", (*_TEXT, _RETRY_AFTER)),
    broken=Answer(503, b"service_unavailable", _TEXT),
)
