"""Finds a blocking client in an `async def` activity, where its code tells."""

import dis
import inspect
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

BLOCKING_PACKAGES = frozenset({"boto3", "botocore", "docker", "requests", "smtplib", "subprocess", "urllib3"})
"""Packages whose every call blocks."""

BLOCKING_FUNCTIONS = frozenset(
    {
        "time.sleep",
        "psycopg.connect",
        "psycopg.Connection.connect",
        "psycopg.connection.Connection.connect",
        "urllib.request.urlopen",
        "socket.create_connection",
    }
)
"""Single functions that block, in packages that do not otherwise."""


def blocking_call(activity: Callable[..., Any]) -> str | None:
    """Name a blocking function that the activity's code uses, or None.

    It follows the functions of the activity's own module. A client that is handed in, or made in
    another module, can't be told; exceptions and constants of a blocking package are no calls.
    """
    function = inspect.unwrap(activity)
    function = getattr(function, "__func__", function)
    return next(_blocking(function, set()), None) if isinstance(function, FunctionType) else None


def _blocking(function: FunctionType, seen: set[FunctionType]) -> Iterator[str]:
    if function in seen:
        return
    seen.add(function)
    for name, attributes in _uses(function.__code__):
        value = function.__globals__.get(name)
        if isinstance(value, FunctionType) and value.__module__ == function.__module__ and not attributes:
            if not inspect.iscoroutinefunction(value):
                yield from _blocking(value, seen)
        elif (path := _path(value, attributes)) is not None:
            yield path
    for module in _imports(function.__code__):
        if module.split(".")[0] in BLOCKING_PACKAGES:
            yield module


def _path(value: Any, attributes: tuple[str, ...]) -> str | None:
    """The dotted name of what is used, if it blocks."""
    path = value.__name__ if isinstance(value, ModuleType) else _qualified(value)
    for attribute in attributes:
        if path in BLOCKING_FUNCTIONS:
            break
        value, path = getattr(value, attribute, None), f"{path}.{attribute}"
    if not callable(value) or (inspect.isclass(value) and issubclass(value, BaseException)):
        return None
    blocks = path in BLOCKING_FUNCTIONS or path.split(".")[0] in BLOCKING_PACKAGES
    return path if blocks else None


def _uses(code: CodeType) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The names that the code loads, each with the attributes that are taken of it at once."""
    name, attributes = "", list[str]()
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD") and name:
            attributes.append(str(step.argval))
            continue
        if name:
            yield name, tuple(attributes)
        name, attributes = (str(step.argval), []) if step.opname == "LOAD_GLOBAL" else ("", [])
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _uses(constant)


def _imports(code: CodeType) -> Iterator[str]:
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME":
            yield str(step.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _imports(constant)


def _qualified(value: object) -> str:
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"
