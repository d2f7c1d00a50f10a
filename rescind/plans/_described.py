"""The JSON Schema of a request or result, with each field's description taken from the model's docstring."""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel

_FIELD = re.compile(r"^ {4}(\w+): (.*)$")
_HEADING = "Attributes:"

Mode: TypeAlias = Literal["validation", "serialization"]
_MADE: dict[tuple[type[BaseModel], Mode], dict[str, Any]] = {}


def described_schema(model: type[BaseModel], mode: Literal["validation", "serialization"]) -> dict[str, Any]:
    """A model's JSON Schema; the caller may change it."""
    return deepcopy(schema_of(model, mode))


def schema_of(model: type[BaseModel], mode: Mode) -> dict[str, Any]:
    """The same, made once for each model; nobody may change it."""
    made = _MADE.get((model, mode))
    if made is None:
        made = _MADE[model, mode] = _described(model.model_json_schema(mode=mode))
    return made


def _described(schema: dict[str, Any]) -> dict[str, Any]:
    for each in (schema, *schema.get("$defs", {}).values()):
        _describe(each)
    return schema


def _describe(schema: dict[str, Any]) -> None:
    """Move what a docstring says of each field to that field; Pydantic puts it all into one description."""
    summary, heading, attributes = schema.get("description", "").partition(_HEADING)
    if not heading:
        return
    schema["description"] = summary.strip()
    for name, words in _fields(attributes).items():
        if name in schema.get("properties", {}):
            schema["properties"][name].setdefault("description", words)


def _fields(attributes: str) -> dict[str, str]:
    found: dict[str, str] = {}
    name = ""
    for line in attributes.splitlines():
        if begun := _FIELD.match(line):
            name = begun[1]
            found[name] = begun[2]
        elif name and line.startswith(" " * 8):
            found[name] += f" {line.strip()}"
    return found
