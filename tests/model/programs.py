"""Random programs of sagas as data, and the workflows that run them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import BaseModel, Field
from temporalio import activity, workflow
from temporalio.exceptions import ApplicationError

from rescind import (
    Absent,
    Applied,
    Call,
    Receipt,
    Restoration,
    Retries,
    RollbackIncomplete,
    Saga,
    StepFailed,
    Tool,
    Unknown,
)

with workflow.unsafe.imports_passed_through():
    from tests.rescind import toy_world as toy


@activity.defn(name="make_marked")
async def make_marked(call: Call[toy.MakeThing]) -> toy.Thing:
    """Make it at a provider that keeps a trace."""
    return await toy.make_thing(call)


@activity.defn(name="unmake_marked")
async def unmake_marked(receipt: Receipt[toy.MakeThing, toy.Thing]) -> Restoration:
    """Take it away; a trace stays."""
    done = await toy.unmake_thing(receipt)
    return Restoration.residue("a trace in the register") if done.grade.value == "exact" else done


@activity.defn(name="find_marked")
async def find_marked(call: Call[toy.MakeThing]) -> Applied[toy.Thing] | Absent | Unknown:
    """Look whether this call made it."""
    return await toy.find_thing(call)


MAKE_MARKED = Tool(
    name="model.make_marked",
    description="Make a thing; when it is taken away a trace stays.",
    forward=make_marked,
    compensate=unmake_marked,
    lookup=find_marked,
    is_reversible=True,
    timeout=timedelta(seconds=4),
    undo_timeout=timedelta(seconds=4),
    retries=Retries(tries=3, first_wait=timedelta(milliseconds=50)),
    undo_retries=Retries(tries=3, first_wait=timedelta(milliseconds=50)),
)
TOOLS = {tool.name: tool for tool in (*toy.TOOLS, MAKE_MARKED)}


class Make(BaseModel):
    """One step, and what its provider does to its calls in turn."""

    kind: Literal["make"] = "make"
    tool: str
    forward: list[toy.Behaviour] = []
    undo: list[toy.Behaviour] = []
    find: list[toy.Behaviour] = []
    there: Literal["wanted", "somebody else"] | None = None
    stolen: bool = False
    caught: bool = False
    name: str = ""


class Together(BaseModel):
    """Parts side by side."""

    kind: Literal["together"] = "together"
    nodes: list[Make | Child]


class Child(BaseModel):
    """A child saga."""

    kind: Literal["child"] = "child"
    nodes: list[Node]


class Attempt(BaseModel):
    """One way inside a savepoint, given up by itself or by a failure; then another."""

    kind: Literal["attempt"] = "attempt"
    first: list[Make | Child]
    second: list[Make]
    give_up: bool


Node = Annotated[Make | Together | Child | Attempt, Field(discriminator="kind")]


class Program(BaseModel):
    """A whole saga: its parts one after the other, and how its block is left."""

    nodes: list[Node]
    end: Literal["commit", "fail", "leave"] = "commit"
    world: str = ""

    def steps(self) -> Iterator[Make]:
        """Every step there is, in the order of the text."""
        return _steps(self.nodes)


def _steps(nodes: Sequence[Make | Together | Child | Attempt]) -> Iterator[Make]:
    for node in nodes:
        match node:
            case Make():
                yield node
            case Attempt():
                yield from _steps(node.first)
                yield from _steps(node.second)
            case _:
                yield from _steps(node.nodes)


@workflow.defn
class RunProgram:
    """Runs a program as a saga; one of its children is another program."""

    @workflow.run
    async def run(self, program: Program) -> str:
        async with Saga(approved=["toy.tell_world"]) as saga:
            await _all(saga, program.world, program.nodes)
            if program.end == "fail":
                raise ApplicationError("planned failure", non_retryable=True)
            if program.end == "commit":
                await saga.commit()
        return "done"


async def _all(saga: Saga, world: str, nodes: Sequence[Make | Together | Child | Attempt]) -> None:
    for node in nodes:
        await _one(saga, world, node)


async def _one(saga: Saga, world: str, node: Make | Together | Child | Attempt) -> None:
    match node:
        case Make():
            await _make(saga, world, node)
        case Together():
            async with asyncio.TaskGroup() as group:
                for each in node.nodes:
                    group.create_task(_one(saga, world, each))
        case Child():
            await saga.child(RunProgram.run, Program(nodes=node.nodes, world=world))
        case Attempt():
            await _attempt(saga, world, node)


async def _make(saga: Saga, world: str, node: Make) -> None:
    try:
        await saga.step(TOOLS[node.tool], toy.MakeThing(world=world, name=node.name))
    except StepFailed as error:
        if not (node.caught and error.absent):
            raise


async def _attempt(saga: Saga, world: str, node: Attempt) -> None:
    try:
        async with saga.savepoint():
            await _all(saga, world, node.first)
            if node.give_up:
                raise ApplicationError("this way is too dear", non_retryable=True)
    except RollbackIncomplete:
        raise
    except ApplicationError:
        await _all(saga, world, node.second)
