"""Reads a workflow's input from a file or from options, and says every problem of it in plain words."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import ErrorDetails, to_json

from rescind.cli._exit import ExitCode, Stopped

M = TypeVar("M", bound=BaseModel)

LARGEST = 4_000_000
"""Characters of a file at most; Temporal carries less than two million bytes."""


def read_input(path: Path, model: type[M]) -> M:
    """The input in a JSON or YAML file; what it is, its name's ending says.

    Raises:
        Stopped: The file can't be read, or its content is not this model.
    """
    return checked(read_plain(path), model, source=str(path))


def read_plain(path: Path) -> JsonValue:
    """The content of a JSON or YAML file as plain data.

    Raises:
        Stopped: The file can't be read, is too large, or is not what its name's ending says.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _bad(f"{path} can't be read: {error}") from None
    if len(text) > LARGEST:
        raise _bad(f"{path} has {len(text)} characters, and {LARGEST} are the most.")
    kind = "JSON" if path.suffix == ".json" else "YAML"
    try:
        plain: JsonValue = json.loads(text) if kind == "JSON" else _yaml(text)
    except ValueError as error:
        raise _bad(f"{path} is not {kind}: {error}") from None
    except RecursionError:
        raise _bad(f"{path} is nested too deep to be read.") from None
    return plain


def checked(plain: JsonValue, model: type[M], *, source: str) -> M:
    """Plain data as a model.

    Raises:
        Stopped: It is not that model; the message names every problem.
    """
    try:
        return model.model_validate_json(to_json(plain))
    except ValidationError as error:
        problems = "\n".join(f"  - {_in_words(each)}" for each in error.errors())
        raise _bad(f"{source} does not say what is needed:\n{problems}") from None


def _yaml(text: str) -> JsonValue:
    try:
        import yaml  # noqa: PLC0415  (only an application that reads YAML has it)
    except ImportError:
        raise ValueError("no reader for YAML is installed; `pip install PyYAML`, or write JSON") from None
    try:
        loaded: Any = yaml.safe_load(text)
        _refuse_if_it_grows(loaded)
        return json.loads(json.dumps(loaded, default=str))  # type: ignore[no-any-return]  # it is JSON
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None


def _refuse_if_it_grows(loaded: object) -> None:
    """Refuse a few lines of aliases that stand for more than could be held: each alias counts as what it names."""
    sizes: dict[int, int] = {}

    def size(value: object) -> int:
        if id(value) not in sizes:
            sizes[id(value)] = (
                len(value) if isinstance(value, str) else 1
            )  # one that holds itself: JSON's writer tells
            sizes[id(value)] += sum(map(size, _inner(value)))
        return sizes[id(value)]

    if size(loaded) > LARGEST:
        raise ValueError("its aliases stand for too much; write out what is meant, or leave them away")


def _inner(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return cast("Iterable[object]", value.values())
    return cast("Iterable[object]", value) if isinstance(value, list) else ()


def _in_words(problem: ErrorDetails) -> str:
    field = ".".join(map(str, problem["loc"])) or "the whole"
    match problem["type"]:
        case "missing":
            return f"{field} is missing"
        case "extra_forbidden":
            return f"{field}: there is no such field"
        case "value_error":
            return f"{field}: {problem['msg'].removeprefix('Value error, ')}"
        case _:
            message = problem["msg"][:1].lower() + problem["msg"][1:]
            given = problem["input"]
            shown = (
                f" (it is {given!r})"
                if isinstance(given, str | int | float) and len(str(given)) <= 60
                else ""
            )
            return f"{field}: {message}{shown}"


def _bad(message: str) -> Stopped:
    return Stopped(f"{message}\nNothing was started.", ExitCode.BAD_INPUT)
