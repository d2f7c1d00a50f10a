"""Says in lines for people how two worlds differ."""

from collections.abc import Iterator
from typing import Any, cast

from embedded.world._snapshot import World

Path = tuple[str, ...]
EMPTY = ("= {}", "= []", "= ''")  # said only where nothing else of the same thing differs


def difference(before: World, after: World) -> list[str]:
    """One line for each value that came, went or changed; empty if and only if the worlds are equal."""
    old, new = dict(leaves(before.model_dump(), ())), dict(leaves(after.model_dump(), ()))
    lines = {
        path: line(path, old, new)
        for path in sorted(old.keys() | new.keys())
        if old.get(path) != new.get(path)
    }
    told = {path for path, one in lines.items() if not one.endswith(EMPTY)}
    around = {path[:length] for path in told for length in range(len(path))}
    return [one for path, one in lines.items() if path in told or path[:-1] not in around]


def line(path: Path, old: dict[Path, Any], new: dict[Path, Any]) -> str:
    """What happened to the value at one path."""
    name = " / ".join(path)
    if path not in new:
        return f"gone: {name} = {old[path]!r}"
    if path not in old:
        return f"new: {name} = {new[path]!r}"
    return f"changed: {name}: {old[path]!r} became {new[path]!r}"


def leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Every innermost value with the names that lead to it; empty dicts and lists are values too."""
    named: dict[str, object]
    match value:
        case dict():
            named = cast("dict[str, object]", value)
        case list():
            named = {f"{number:06}": one for number, one in enumerate(cast("list[object]", value), 1)}
        case _:
            named = {}
    if not named:
        yield path, value
    for name, inner in named.items():
        yield from leaves(inner, (*path, name))
