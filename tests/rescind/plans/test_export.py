"""The catalogue as models and their hosts take it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, JsonValue
from temporalio import activity

from activities.catalogue import CATALOGUE
from rescind import Call, Request, Result, Risk, Tool
from rescind.plans import (
    ProvenGrade,
    ToolClass,
    anthropic_tools,
    called_arguments,
    called_tool,
    class_of,
    entries,
    entry_of,
    function_name,
    mcp_tools,
    openai_tools,
)
from tests.rescind.toy_world import COUNT_THINGS, MAKE_THING, TELL_WORLD, TOOLS

OURS = entries(CATALOGUE)


class Size(BaseModel):
    """A size.

    Attributes:
        width: In metres.
    """

    width: float
    unit: Literal["m", "cm"] = "m"


class Build(Request):
    """Build something.

    Attributes:
        name: What it is called,
            and for how long.
        size: How large it is.
    """

    name: str = Field(min_length=2, max_length=8, pattern=r"^\b\w+$")
    size: Size | None = None
    floors: int = Field(default=1, ge=1)


class Built(Result):
    """Something that was built."""


@activity.defn
async def build(call: Call[Build]) -> Built:
    """Build it."""
    return Built(changed=bool(call.request.name))


BUILD = Tool(
    name="site.build",
    description="Build something.",
    forward=build,
    risk=Risk.CRITICAL,
    retriable=True,
    timeout=timedelta(seconds=7),
)


def objects(schema: JsonValue) -> Iterator[dict[str, Any]]:
    """Every schema of an object within a schema."""
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for each in schema.values():
            yield from objects(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from objects(each)


def test_every_tool_is_in_the_catalogue_with_its_facts() -> None:
    """An entry has the class, the risk, whom to ask, the undo's grade and both schemas."""
    entry = entry_of(BUILD)
    assert (entry.tool_class, entry.risk, entry.approvals, entry.grade) == ("retriable", "critical", 2, None)
    assert entry.request["properties"]["name"]["description"] == "What it is called, and for how long."
    assert entry.request["$defs"]["Size"]["properties"]["width"]["description"] == "In metres."
    assert entry.request["description"] == "Build something."
    assert {each.name for each in OURS} == {tool.name for tool in CATALOGUE}


@pytest.mark.parametrize(
    ("tool", "kind", "approvals"),
    [
        (COUNT_THINGS, ToolClass.READ, 0),
        (MAKE_THING, ToolClass.COMPENSATABLE, 0),
        (TELL_WORLD, ToolClass.IRREVERSIBLE, 1),
    ],
)
def test_the_class_of_a_tool(tool: Tool[Any, Any], kind: ToolClass, approvals: int) -> None:
    """Read-only, with an undo, without one."""
    assert (class_of(tool), entry_of(tool).approvals) == (kind, approvals)


def test_the_grade_comes_from_the_certificate() -> None:
    """What has no certificate is unverified, and what has no undo has no grade."""
    proven = {"toy.make_thing": ProvenGrade.EXACT}
    grades = {
        each.name: each.grade
        for each in entries(TOOLS, lambda name: proven.get(name, ProvenGrade.UNVERIFIED))
    }
    assert grades["toy.make_thing"] is ProvenGrade.EXACT
    assert grades["toy.make_blind"] is ProvenGrade.UNVERIFIED
    assert grades["toy.tell_world"] is None


def test_an_entry_says_class_in_json() -> None:
    """Programs read `class`, as people do."""
    assert entry_of(MAKE_THING).model_dump(mode="json", by_alias=True)["class"] == "compensatable"


@pytest.mark.parametrize("tool", openai_tools(OURS), ids=lambda tool: tool["function"]["name"])
def test_openai_s_strict_mode(tool: dict[str, Any]) -> None:
    """Every object is closed, all its fields are required, and nothing is said that strict mode does not know."""
    function = tool["function"]
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", function["name"])
    if function["strict"]:
        for each in objects(function["parameters"]):
            assert each["additionalProperties"] is False
            assert each["required"] == list(each["properties"])
            assert not set(each) & {
                "default",
                "title",
                "minLength",
                "maxLength",
                "patternProperties",
                "allOf",
            }


def test_a_tool_with_a_free_map_is_not_strict() -> None:
    """Strict mode has no form for it, and the plain schema is exported instead; all others are strict."""
    loose = {tool["function"]["name"] for tool in openai_tools(OURS) if not tool["function"]["strict"]}
    assert loose == {"container-deploy", "ecs-deploy", "s3-put_object", "webhook-post"}


def test_what_strict_mode_can_not_say_is_said_in_words() -> None:
    """Lengths and defaults are in the description; a pattern that looks ahead is left out; null stands for nothing."""
    (tool,) = openai_tools([entry_of(BUILD)])
    fields = tool["function"]["parameters"]["properties"]
    assert fields["name"] == {
        "type": "string",
        "description": "What it is called, and for how long. (at least 2 characters, at most 8 characters)",
    }
    assert fields["floors"] == {
        "anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}],
        "description": "(null means 1)",
    }
    assert {"$ref": "#/$defs/Size"} in fields["size"]["anyOf"]


def test_a_function_call_as_a_plan_has_it() -> None:
    """The name leads back to the tool, and a null that strict mode asked for is left out."""
    entry = called_tool([entry_of(MAKE_THING), entry_of(BUILD)], "site-build")
    assert entry is not None
    assert called_arguments(entry, {"name": "hut", "size": None, "floors": None, "odd": None}) == {
        "name": "hut",
        "size": None,
        "odd": None,
    }
    assert called_tool([entry], "site-demolish") is None


def test_a_name_that_is_too_long_for_a_function() -> None:
    """It is refused, with the name and the limit."""
    with pytest.raises(ValueError, match="65 characters, and a function's name has 64 at most"):
        function_name("a." + "b" * 63)


def test_anthropic_s_tools() -> None:
    """Name, description and input schema, and nothing else."""
    for tool in anthropic_tools(OURS):
        assert set(tool) == {"name", "description", "input_schema"}
        assert tool["input_schema"]["type"] == "object"
    notify = next(tool for tool in anthropic_tools(OURS) if tool["name"] == "chat-notify")
    assert notify["description"].endswith("It has no undo, so a person has to approve it.")


def test_mcp_s_annotations_are_honest() -> None:
    """Only what reads is called harmless and repeatable; the class and the risk are told beside."""
    annotations = {tool["name"]: tool["annotations"] for tool in mcp_tools(entries(TOOLS))}
    read = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": True}
    write = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}
    assert annotations.pop("toy.count_things") == read
    assert all(each == write for each in annotations.values())
    told = {tool["name"]: tool["_meta"] for tool in mcp_tools(entries(TOOLS))}["toy.tell_world"]
    assert told == {"rescind/class": "irreversible", "rescind/risk": "high", "rescind/approvals": 1}


def test_mcp_s_schemas() -> None:
    """Names, input and output are as the protocol wants them, and a field of the name `title` would stay."""
    for tool in mcp_tools(OURS):
        assert re.fullmatch(r"[A-Za-z0-9_.-]{1,128}", tool["name"])
        assert tool["inputSchema"]["type"] == tool["outputSchema"]["type"] == "object"
