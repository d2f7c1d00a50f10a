"""The subset of JSON Schema that OpenAI's strict mode takes, made of a tool's own schema where that is possible."""

from __future__ import annotations

import re
from typing import Any

from pydantic import JsonValue

_SHAPE = frozenset({"type", "description", "enum", "const", "properties", "items", "anyOf", "$ref", "$defs"})
_LIMITS = frozenset(
    {
        "pattern",
        "format",
        "multipleOf",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minItems",
        "maxItems",
    }
)
"""What the guide "Structured Outputs" of OpenAI's documentation lists as supported."""

_SAID = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "default": "null means {}",
}
"""What is said in the description instead, since the grammar can't hold it."""

_LOOKS_AROUND = re.compile(r"\(\?[=!<]|\\[1-9bB]")
"""Look-arounds, back-references and word boundaries: no grammar of a model's output can hold them."""


class NotStrict(Exception):
    """A schema has no strict form."""


def strict_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """The strict form of an object's schema: every field is required, and null stands for one that is left out.

    Raises:
        NotStrict: It has a free map or a field of any kind, for which strict mode has no form.
    """
    return _strict(schema)


def _strict(schema: dict[str, Any]) -> dict[str, Any]:
    kept = {word: value for word, value in schema.items() if word in _SHAPE | _LIMITS}
    if "$defs" in kept:
        kept["$defs"] = {name: _strict(each) for name, each in kept["$defs"].items()}
    if "anyOf" in kept:
        kept["anyOf"] = [_strict(each) for each in kept["anyOf"]]
    if "items" in kept:
        kept["items"] = _strict(kept["items"])
    if schema.get("type") == "object":
        kept |= _object(schema)
    elif not kept.keys() & {"type", "anyOf", "$ref", "enum", "const"} or "prefixItems" in schema:
        raise NotStrict
    if _LOOKS_AROUND.search(kept.get("pattern", "")):
        del kept["pattern"]
    return _with_words(kept, schema)


def _object(schema: dict[str, Any]) -> dict[str, Any]:
    if "patternProperties" in schema or schema.get("additionalProperties", not schema.get("properties")):
        raise NotStrict
    required = schema.get("required", [])
    properties = {
        name: _strict(each) if name in required else _nullable(_strict(each))
        for name, each in schema.get("properties", {}).items()
    }
    return {"properties": properties, "required": list(properties), "additionalProperties": False}


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    null = {"type": "null"}
    if null in schema.get("anyOf", []):
        return schema
    words = {"description": schema.pop("description")} if "description" in schema else {}
    return {"anyOf": [*schema.pop("anyOf", [schema]), null]} | words


def _with_words(kept: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    said = [words.format(schema[word]) for word, words in _SAID.items() if schema.get(word) is not None]
    if said:
        kept["description"] = " ".join(filter(None, [kept.get("description"), f"({', '.join(said)})"]))
    return kept


def plain_arguments(arguments: dict[str, JsonValue], schema: dict[str, Any]) -> dict[str, JsonValue]:
    """What a model wrote in the strict form as the tool takes it: a null where null is no value is left out."""
    properties: dict[str, Any] = schema.get("properties", {})
    return {
        name: value
        for name, value in arguments.items()
        if value is not None or name not in properties or _takes_null(properties[name])
    }


def _takes_null(schema: dict[str, Any]) -> bool:
    return schema.get("type") == "null" or any(_takes_null(each) for each in schema.get("anyOf", []))
