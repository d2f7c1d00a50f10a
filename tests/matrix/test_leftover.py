"""The comparison is shown to be able to fail: one thing left by hand, through the provider's own client."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import httpx
import psycopg
import pytest
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter

from embedded.world import snapshot
from rescind.ledger import install
from tests.faults.one_call import AWS
from tests.matrix.bench import run_bench
from tests.matrix.cells import Cell, Step, Trouble
from tests.matrix.places import Places, places_of
from tests.matrix.run import judge_all

pytestmark = pytest.mark.timeout(300)


def _branch(places: Places, cell: Cell) -> None:
    repository = places.repositories[cell.name]
    subprocess.run(["git", "-C", repository, "update-ref", "refs/heads/left", "refs/heads/main"], check=True)


def _bucket(places: Places, cell: Cell) -> None:
    s3 = AWS.client("s3", endpoint_url=places.stack["RESCIND_S3_ENDPOINT"])
    s3.create_bucket(Bucket=f"left-{cell.name}")


def _column(places: Places, cell: Cell) -> None:
    with psycopg.connect(places.databases[cell.name]) as connection:
        connection.execute("CREATE TABLE left_over ()")


def _service(places: Places, cell: Cell) -> None:
    ecs = AWS.client("ecs", endpoint_url=places.stack["RESCIND_ECS_ENDPOINT"])
    image = {"name": "web", "image": "web:1", "memory": 16}
    ecs.register_task_definition(family=f"left-{cell.name}", containerDefinitions=[image])  # type: ignore[list-item]


def _message(places: Places, cell: Cell) -> None:
    httpx.post(places.hooks[cell.name], json={"text": "left"}, trust_env=False).raise_for_status()


LEFT: dict[Step, Callable[[Places, Cell], None]] = {
    Step.BRANCH: _branch,
    Step.BUCKET: _bucket,
    Step.SCHEMA: _column,
    Step.SERVICE: _service,
    Step.NOTIFICATION: _message,
}


async def test_one_leftover_is_seen(stack_environment: dict[str, str], tmp_path: Path) -> None:
    """An undone saga beside which one thing was left is judged a false clean, whatever the thing is."""
    install(stack_environment["RESCIND_LEDGER_ADMIN_DSN"], workers=["rescind_ledger_worker"])
    client = await Client.connect(
        stack_environment["TEMPORAL_ADDRESS"], data_converter=pydantic_data_converter
    )
    refused = [Cell(Step.BRANCH, Trouble.REFUSED, run=f"left{step}") for step in LEFT]
    reference = Cell(Step.SERVICE, Trouble.NONE, run="left")
    places = places_of([*refused, reference], stack_environment, tmp_path, None)
    before = snapshot(places.environment)
    ended = await run_bench([*refused, reference], places, client, tmp_path)
    clean = await judge_all(ended, before, snapshot(places.environment), client, stack_environment)
    for (_, leave), cell in zip(LEFT.items(), refused, strict=True):
        leave(places, cell)
    spoilt = await judge_all(ended, before, snapshot(places.environment), client, stack_environment)
    assert [verdict.problems for verdict in clean.verdicts] == [()] * len(ended)
    assert [verdict.world for verdict in spoilt.verdicts] == [f"left: {step}" for step in LEFT] + ["as after"]
    assert spoilt.false_clean == len(LEFT)
    assert all(verdict.problems for verdict in spoilt.verdicts[:-1])
