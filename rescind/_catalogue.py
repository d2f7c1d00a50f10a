"""The catalogue: the tools that a worker registers and a workflow may name."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, cast

from rescind._errors import ToolRefused
from rescind._tool import Tool

AnyTool = Tool[Any, Any]


class Catalogue:
    """An immutable set of tools, each validated again: `model_construct` and `model_copy` skip validation.

    Args:
        tools: The tools.

    Raises:
        ToolRefused: A tool breaks the contract, or two have one name, or two activities have one name.
    """

    def __init__(self, tools: Iterable[AnyTool]) -> None:
        by_name: dict[str, AnyTool] = {}
        activities: dict[str, str] = {}
        for declared in tools:
            tool = _declared_again(declared)
            if tool.name in by_name:
                raise ToolRefused(
                    tool.name, ["another tool has this name; the ledger could not tell them apart"]
                )
            by_name[tool.name] = tool
            _claim_activity_names(tool, activities)
        self._tools: Mapping[str, AnyTool] = MappingProxyType(by_name)

    def __getitem__(self, name: str) -> AnyTool:
        """The tool of this name.

        Raises:
            KeyError: There is none.
        """
        return self._tools[name]

    def get(self, name: str) -> AnyTool | None:
        """The tool of this name, or None."""
        return self._tools.get(name)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[AnyTool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)


def activity_names(tool: AnyTool) -> dict[str, str]:
    """The names under which a tool's activities are registered, by role."""
    functions = {"forward": tool.forward, "compensate": tool.compensate, "lookup": tool.lookup}
    return {
        role: getattr(function, "__temporal_activity_definition").name
        for role, function in functions.items()
        if function is not None
    }


def _declared_again(tool: AnyTool) -> AnyTool:
    if not isinstance(cast("object", tool), Tool):
        raise ToolRefused("?", [f"{tool!r} is no Tool; write Tool(...) and put that into the catalogue"])
    return Tool(**dict(tool))


def _claim_activity_names(tool: AnyTool, taken: dict[str, str]) -> None:
    for name in activity_names(tool).values():
        if name in taken:
            owner = "another activity of its own" if taken[name] == tool.name else f"one of {taken[name]!r}"
            problem = f"its activity {name!r} has the name of {owner}; write @activity.defn(name=...)"
            raise ToolRefused(tool.name, [problem])
        taken[name] = tool.name
