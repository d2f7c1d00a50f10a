"""What a kill leaves, and that the next start goes on with all data."""

import contextlib
import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import boto3
import httpx
import psutil
import psycopg
import pytest
from temporalio.client import Client

from embedded import Description, environment
from embedded.environment import SOCKET_VARIABLE, only
from embedded.git import git
from embedded.world import World, difference, snapshot
from tests.embedded.up import Up, processes_of, up, wait_until_gone


def kill_group(started: Up, _found: Description) -> None:
    """Everything in the group of `up`."""
    started.kill_group()


def kill_everything(started: Up, found: Description) -> None:
    """`up`, leashes and servers at once, as a machine that loses power."""
    everything = processes_of(found)
    started.process.kill()
    for process in everything:
        with contextlib.suppress(psutil.NoSuchProcess):  # its leash was faster
            process.kill()
    started.process.wait()


Killing = Callable[[Up, Description], None]


async def leave_something(settings: dict[str, str]) -> None:
    """Puts one thing into every stand-in."""
    client = await Client.connect(settings["TEMPORAL_ADDRESS"])
    await client.start_workflow("Waiting", id="waiting", task_queue="nobody")
    with psycopg.connect(json.loads(settings["RESCIND_DATABASES"])["app"]) as connection:
        connection.execute("create table kept (what text)")
        connection.execute("insert into kept values ('a row')")
    repository = Path(json.loads(settings["RESCIND_GIT_REMOTES"])["app"])
    git(repository, settings, "branch", "kept", "main")
    hook = json.loads(settings["RESCIND_CHAT_WEBHOOKS"])["ops"]
    async with httpx.AsyncClient(trust_env=False) as browser:
        assert (await browser.post(hook, json={"text": "kept"})).text == "ok"
    with only(settings):
        s3, ecs = boto3.client("s3"), boto3.client("ecs")
        s3.create_bucket(Bucket="kept")
        s3.put_bucket_tagging(Bucket="kept", Tagging={"TagSet": [{"Key": "owner", "Value": "me"}]})
        s3.put_object(Bucket="kept", Key="a/b c/ü", Body=b"content", Metadata={"by": "me"})
        ecs.create_cluster(clusterName="kept")
        ecs.register_task_definition(
            family="web", containerDefinitions=[{"name": "web", "image": "web:1", "memory": 64}]
        )
        ecs.create_service(cluster="kept", serviceName="web", taskDefinition="web:1", desiredCount=1)


async def still_there(settings: dict[str, str]) -> World:
    """The world, after a look at Temporal's history."""
    client = await Client.connect(settings["TEMPORAL_ADDRESS"])
    history = await client.get_workflow_handle("waiting").fetch_history()
    assert len(history.events) >= 2
    # Others use the machine's Docker engine meanwhile.
    return snapshot({name: each for name, each in settings.items() if name != SOCKET_VARIABLE})


@pytest.mark.parametrize("kill", [kill_group, kill_everything])
async def test_killed_with_sigkill(tmp_path: Path, kill: Killing) -> None:
    """No server outlives it; a new start has the same ports, history, rows, refs, objects and messages."""
    directory = tmp_path / "data"
    with up(directory) as started:
        found = started.ready()
        settings = environment(found)
        await leave_something(settings)
        before = await still_there(settings)
        kill(started, found)
    wait_until_gone(found)
    with up(directory) as again:
        second = again.ready()
        after = await still_there(environment(second))
        assert second.services["temporal"].port == found.services["temporal"].port
        assert second.ui_port == found.ui_port
    assert difference(before, after) == []
    assert after.databases["app"].relations["public.kept"].rows == {'{"what": "a row"}': 1}
    assert after.buckets["kept"].tags == {"owner": "me"}
    assert [message.text for message in after.messages] == ["kept"]


def test_started_again_at_once_after_a_kill(tmp_path: Path) -> None:
    """The new start ends what is still there, and says so."""
    directory = tmp_path / "data"
    with up(directory) as started:
        found = started.ready()
        leash = found.services["postgres"].leash.process()
        assert leash is not None
        leash.send_signal(signal.SIGSTOP)
        started.kill_group()
    with up(directory) as again:
        second = again.ready()
        assert any("Ended what an earlier run had left: " in note for note in second.notes)
        assert second.services["postgres"].process != found.services["postgres"].process
    wait_until_gone(found)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's death")
def test_leashes_are_killed_too(tmp_path: Path) -> None:
    """The kernel ends the servers."""
    with up(tmp_path / "data") as started:
        found = started.ready()
        leashes = [leash.process() for leash in {service.leash for service in found.services.values()}]
        started.process.kill()
        for leash in leashes:
            assert leash is not None
            leash.kill()
        started.process.wait()
    wait_until_gone(found)
