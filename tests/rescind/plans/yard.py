"""A catalogue of tools of every class, which note that they were called and do nothing else."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, model_validator
from temporalio import activity

from rescind import Call, Receipt, Request, Restoration, Result, Risk, Tool
from rescind.plans import Checked, check


class Part(BaseModel):
    """A part of what is built."""

    name: str
    weight: float = 1.0


class Build(Request):
    """Build something at a place."""

    place: str
    name: Annotated[str, Field(min_length=1, pattern=r"^[a-z]+$")] = "hut"
    floors: Annotated[int, Field(ge=1, le=9)] = 1
    height: float | None = None
    colour: Literal["red", "blue"] = "red"
    parts: list[Part] = Field(default=[])
    labels: dict[str, str] = Field(default={})

    @model_validator(mode="after")
    def _not_so_high(self) -> Build:
        if self.place == "swamp" and self.floors > 2:
            raise ValueError("a swamp bears two floors")
        return self


class Built(Result):
    """What was built."""

    number: str
    floors: int
    nickname: str | None
    parts: list[Part]
    prices: dict[str, int]
    colour: Literal["red", "blue"] = "red"


class Say(Request):
    """Say something."""

    text: Annotated[str, Field(max_length=200)]


class Said(Result):
    """What was said."""

    text: str


CALLS: list[str] = []
"""The keys of the calls that were made, in order."""


def writes(name: str, *, request: str = "build") -> Any:
    """An activity that notes its call."""

    @activity.defn(name=name)
    async def build(call: Call[Build]) -> Built:
        CALLS.append(call.key)
        return Built(number=call.request.place, floors=1, nickname=None, parts=[], prices={})

    @activity.defn(name=name)
    async def say(call: Call[Say]) -> Said:
        CALLS.append(call.key)
        return Said(text=call.request.text)

    return build if request == "build" else say


def takes_back(name: str) -> Any:
    """A compensation that has nothing to do."""

    @activity.defn(name=name)
    async def unbuild(receipt: Receipt[Build, Built]) -> Restoration:
        return Restoration.nothing(receipt.call.key)

    return unbuild


TOOLS: list[Tool[Any, Any]] = [
    Tool(
        name="site.build",
        description="Build something.",
        forward=writes("build"),
        compensate=takes_back("unbuild"),
        is_reversible=True,
        acts_on=("site/{place}/{name}",),
    ),
    Tool(
        name="site.fence",
        description="Put a fence around a place.",
        forward=writes("fence"),
        compensate=takes_back("unfence"),
        is_reversible=True,
        acts_on=("site/{place}",),
        undo_within=timedelta(hours=1),
    ),
    Tool(
        name="site.paint",
        description="Paint until it is painted.",
        forward=writes("paint"),
        compensate=takes_back("unpaint"),
        is_reversible=True,
        retriable=True,
    ),
    Tool(
        name="site.blow_up",
        description="Blow it up.",
        forward=writes("blow_up"),
        risk=Risk.CRITICAL,
        acts_on=("site/{place}/{name}",),
    ),
    Tool(
        name="radio.say",
        description="Say something to everybody.",
        forward=writes("say", request="say"),
        risk=Risk.HIGH,
    ),
    Tool(
        name="radio.insist",
        description="Say something until it is heard.",
        forward=writes("insist", request="say"),
        risk=Risk.HIGH,
        retriable=True,
    ),
    Tool(
        name="site.look",
        description="Look at a place.",
        forward=writes("look"),
        read_only=True,
    ),
]

ALL = [tool.name for tool in TOOLS]


def step(name: str, tool: str = "site.build", *needs: str, **more: Any) -> dict[str, Any]:
    """A step; by default one that builds something of the step's own name."""
    given: dict[str, Any] = {"text": name} if tool.startswith("radio") else {"place": f"at-{name}"}
    return {"id": name, "tool": tool, "arguments": given, "needs": list(needs)} | more


def checked(*steps: dict[str, Any], approved: list[str] | None = None, **more: Any) -> Checked:
    """What the check says of a plan of these steps."""
    return check({"steps": list(steps), **more}, TOOLS, pre_approved=approved)


def told(found: Checked) -> list[tuple[str, str]]:
    """The kinds and places of the problems."""
    return [(each.fault.value, each.place) for each in found.problems]
