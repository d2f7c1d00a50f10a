"""Keys: the name of one effect inside Rescind, and its idempotency keys for the outside."""

import hashlib

from pydantic import JsonValue
from pydantic_core import to_json

_PROVIDER_KEY = "rsc-{digest}"


def effect_key(saga: str, step: str, number: int) -> str:
    """Name one effect: the same across retries, replays, resets and continued runs of one saga.

    Args:
        saga: Workflow id and first execution run id, joined by '/'.
        step: The step's name.
        number: The step's number among those of its name, from 1.
    """
    return f"{saga}/{step}#{number}"


def provider_key(key: str) -> str:
    """Hash an effect's key to the form that every provider takes: 36 of a-z, 0-9 and '-'."""
    return _PROVIDER_KEY.format(digest=hashlib.sha256(key.encode()).hexdigest()[:32])


def provider_undo_key(key: str) -> str:
    """Hash an effect's key to the idempotency key of its compensation."""
    return provider_key(f"{key}/undo")


def approval_digest(tool: str, request: JsonValue, key: str) -> str:
    """Hash what people approve: a tool, its request, and the one effect that it is for."""
    return hashlib.sha256(to_json([tool, request, key])).hexdigest()


def request_digest(tool: str, request: JsonValue) -> str:
    """Hash a tool's name with a request, so that a key cannot be used for another request."""
    return hashlib.sha256(to_json([tool, request])).hexdigest()
