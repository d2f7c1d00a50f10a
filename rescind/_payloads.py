"""Finds what can't travel in a request or a result: secrets, and what JSON has no form for."""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, Secret, SecretBytes, SecretStr
from pydantic.errors import PydanticInvalidForJsonSchema

_SECRETS = (Secret, SecretBytes, SecretStr)


def problems(model: type[BaseModel], what: str) -> Iterator[str]:
    """What is wrong with a tool's request or result as a payload."""
    try:
        schema = json.dumps(model.model_json_schema(mode="serialization"))
    except PydanticInvalidForJsonSchema:
        schema = ""
        yield (
            f"its {what} {model.__name__} has a field that has no form in JSON, and it travels and is kept as JSON; "
            "use plain data and models of it"
        )
    if '"writeOnly": true' in schema or _has_secret(model, set()):
        yield (
            f"its {what} {model.__name__} has a secret field, which would be masked on the way; name a "
            "connection that the worker knows, and keep the secret in the worker's settings"
        )


def _has_secret(annotation: Any, seen: set[Any]) -> bool:
    origin = typing.get_origin(annotation)
    if origin is not None:
        return _is_secret(origin) or any(_has_secret(each, seen) for each in typing.get_args(annotation))
    if not inspect.isclass(annotation) or annotation in seen:
        return False
    if not issubclass(annotation, BaseModel):
        return _is_secret(annotation)
    seen.add(annotation)
    return any(_has_secret(field.annotation, seen) for field in annotation.model_fields.values())


def _is_secret(annotation: Any) -> bool:
    return inspect.isclass(annotation) and issubclass(annotation, _SECRETS)
