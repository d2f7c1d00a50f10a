"""The demo: it ends well by itself, and one leftover in the world makes it fail."""

import os
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

from embedded import environment, isolated, running
from embedded.world import snapshot
from tests.application import ROOT, until
from tests.containers import none_stays
from tests.stack_fixture import fresh_stack

pytestmark = pytest.mark.timeout(600)


@contextmanager
def demo(directory: Path, *words: str) -> Generator[subprocess.Popen[str]]:
    """The demo as a process; killed at the end if it still runs."""
    process = subprocess.Popen(
        [sys.executable, "-m", "demo", "--directory", str(directory), *words],
        cwd=ROOT,
        env=isolated(os.environ, directory) | {"COLUMNS": "100", "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@pytest.fixture(autouse=True)
def no_container_stays() -> Iterator[None]:
    """The demo leaves containers for people to look at."""
    with none_stays("demo-"):
        yield


def test_ends_well(tmp_path: Path) -> None:
    """Ten runs: three work, seven leave the world as it was; the code is 0, the last lines say how to look at them."""
    with demo(tmp_path) as process:
        said, _ = process.communicate()
        assert process.returncode == 0, said
    assert said.count("Compared value by value: the world is exactly as it was.") == 7
    assert "make up" in said.splitlines()[-2]
    assert running(tmp_path) is None
    with fresh_stack(tmp_path) as again:
        world = snapshot(environment(again.description))
    assert len(world.buckets) == 1
    assert len(world.messages) == 3  # the environment is there; an order and a trip have failed
    assert sum(mail.recipients == ["operations@example.com"] for mail in world.mails) == 2
    assert [invoice.status for invoice in world.invoices.values()] == ["open"]
    assert len(world.bookings) == 2


def test_one_leftover(tmp_path: Path) -> None:
    """A bucket that somebody makes by hand while a run fails is called left behind, and the code is not 0."""
    with fresh_stack(tmp_path) as stack, demo(tmp_path) as process:
        until(process, "2 of 10")
        until(process, "The world before")
        plant(environment(stack.description))
        said, _ = process.communicate()
        assert process.returncode == 3, said
    assert "LEFT BEHIND" in said
    assert "planted-by-hand" in said


def plant(settings: dict[str, str]) -> None:
    """Make a bucket with the provider's own client."""
    s3: Any = boto3.client(
        "s3",
        endpoint_url=settings["RESCIND_S3_ENDPOINT"],
        region_name=settings["AWS_REGION"],
        aws_access_key_id="other",
        aws_secret_access_key="other",
        config=Config(proxies={}),
    )
    s3.create_bucket(Bucket="planted-by-hand")


def test_up(tmp_path: Path) -> None:
    """`up` prints addresses and pids, replaces a worker that was killed, and stops all on SIGTERM with 0."""
    with demo(tmp_path, "up", "--directory", str(tmp_path), "--ui-port", "0") as process:
        said = until(process, "Ctrl-C finishes")
        found = running(tmp_path)
        assert found is not None
        assert found.web_ui in said
        worker = next(line for line in said.splitlines() if " worker " in line).split("│")[3].strip()
        os.kill(int(worker), 9)
        assert f"The worker {worker} has ended" in until(process, "goes on")
        process.terminate()
        rest, _ = process.communicate(timeout=90)
        assert process.returncode == 0, rest
    assert running(tmp_path) is None
