"""A scripted model, and the toy world's tools."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter

from rescind.planner import Ask, Proposal, propose
from tests.rescind.planner.scripted import Scripted, scripted_model
from tests.rescind.toy_world import TOOLS

Propose = Callable[..., Awaitable[Proposal]]

ALLOWED = ["toy.make_thing", "toy.count_things"]


@pytest.fixture(scope="session")
def one_model() -> Iterator[Scripted]:
    """The scripted model's server."""
    with scripted_model() as model:
        yield model


@pytest.fixture
def model(one_model: Scripted, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    """The model without answers, named by the environment of this process."""
    one_model.answers, one_model.asked, one_model.keys = [], [], []
    for name, value in one_model.environment().items():
        monkeypatch.setenv(name, value)
    return one_model


@pytest.fixture(scope="session")
async def client(stack_environment: dict[str, str]) -> Client:
    """A client as a command line has it: without the plugin."""
    address = stack_environment["TEMPORAL_ADDRESS"]
    return await Client.connect(address, data_converter=pydantic_data_converter)


@pytest.fixture
def proposed(client: Client) -> Propose:
    """Asks for a plan by the real workflow on the real server."""

    async def ask(goal: str = "make a and b", catalogue: Any = TOOLS, **more: Any) -> Proposal:
        more = {"tools": ALLOWED, **more}
        asked = Ask(goal=goal, model="openai-chat:scripted", **more)
        return await propose(client, asked, catalogue, workflow_id=f"proposal-{uuid.uuid4()}")

    return ask


def make(name: str, *needs: str, tool: str = "toy.make_thing") -> dict[str, Any]:
    """A step as a model writes it."""
    return {"id": name, "tool": tool, "arguments": {"world": "toy", "name": name}, "needs": list(needs)}
