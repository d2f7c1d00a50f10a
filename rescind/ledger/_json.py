"""JSON on its way into the database and back, for every value that Python's json can write."""

import json
from typing import cast

from pydantic import JsonValue

_WRAPPED = "$json"
_strict = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def encode(value: JsonValue) -> str:
    """Text that PostgreSQL's jsonb always takes; a report is never lost because of what is in it.

    NUL characters, half surrogate pairs, NaN and infinities are legal in Python's JSON and refused by jsonb:
    a value with one of them travels as the text of its JSON, inside an object with the one key `$json`. So
    does None, which is a value here ("nothing was there before") and must not be taken for SQL's NULL.
    """
    if value is None:
        return _wrap(value)
    try:
        text = _strict(value)
        text.encode()
    except ValueError:
        return _wrap(value)
    if "\\u0000" in text or (isinstance(value, dict) and _WRAPPED in value):
        return _wrap(value)
    return text


def encode_optional(value: JsonValue) -> str | None:
    """The same, with None as SQL's NULL."""
    return None if value is None else encode(value)


def decode(value: JsonValue) -> JsonValue:
    """What `encode` was given."""
    if isinstance(value, dict) and len(value) == 1 and isinstance(text := value.get(_WRAPPED), str):
        return cast("JsonValue", json.loads(text))
    return value


def plain(text: str | None) -> str | None:
    """A message as text that PostgreSQL takes, at most 10,000 characters of it."""
    if text is None:
        return None
    return text[:10_000].replace("\x00", "\\x00").encode(errors="backslashreplace").decode()


def _wrap(value: JsonValue) -> str:
    return json.dumps({_WRAPPED: json.dumps(value)}, separators=(",", ":"))
