"""The container tool against a real Docker engine: a healthy new revision, or everything as it was."""

import asyncio
import contextlib
import json
from pathlib import Path

import docker
import pytest
import requests

from activities._deployment import Before
from activities.container import (
    DeployContainer,
    DeployedContainer,
    deploy_container,
    find_container,
    restore_container,
)
from rescind import Absent, Applied, Call, Grade, Receipt, Unknown
from rescind.evidence import Conflict, NothingHappened, Refused
from rescind.evidence.docker import proves
from tests.activities.attempts import Remembering
from tests.activities.docker_world import IMAGE, snapshot

pytestmark = pytest.mark.docker

SLEEP = ["/bin/busybox", "sh", "-c", "trap 'exit 0' TERM; /bin/busybox sleep 1000 & wait"]


def wanted(version: str = "1", key: str = "rsc-1", **changes: object) -> Call[DeployContainer]:
    plain = {
        "service": "web",
        "image": IMAGE,
        "command": SLEEP,
        "environment": {"VERSION": version},
        "network": "host",
        "healthy_within": 6.0,
        "stays_up": 0.5,
    }
    asked = DeployContainer.model_validate_json(json.dumps(plain | changes))
    return Call(request=asked, key=key, undo_key=f"{key}-undo")


def receipt(
    call: Call[DeployContainer], result: DeployedContainer
) -> Receipt[DeployContainer, DeployedContainer]:
    return Receipt(call=call, result=result)


def never_made(call: Call[DeployContainer]) -> Receipt[DeployContainer, DeployedContainer]:
    return receipt(call, DeployedContainer(id="0" * 64, name="web-rsc-1", previous=None))


async def test_the_first_revision(client: docker.DockerClient) -> None:
    """It runs, is found, is deployed once for two calls, and its undo leaves nothing."""
    before, attempts = snapshot(client), Remembering()
    result = await attempts.run(deploy_container, wanted(), seconds=60)
    after = snapshot(client)
    assert client.containers.get(result.id).status == "running"
    assert await attempts.run(deploy_container, wanted(), seconds=60) == result
    assert snapshot(client) == after
    found = await attempts.run(find_container, wanted(), seconds=60)
    assert found == Applied[DeployedContainer](result=result)
    assert (await attempts.run(restore_container, receipt(wanted(), result), seconds=60)).grade is Grade.EXACT
    assert snapshot(client) == before
    undone = await attempts.run(restore_container, receipt(wanted(), result), seconds=60)
    assert undone.grade is Grade.NOTHING
    assert await attempts.run(find_container, wanted(), seconds=60) == Absent()
    assert snapshot(client) == before


async def test_a_second_revision(client: docker.DockerClient) -> None:
    """It replaces the first, and its undo lets the very same first container run again."""
    await Remembering().run(deploy_container, wanted(), seconds=60)
    before, attempts, call = snapshot(client), Remembering(), wanted("2", "rsc-2")
    result = await attempts.run(deploy_container, call, seconds=60)
    assert [each.id for each in client.containers.list()] == [result.id]
    assert await attempts.run(find_container, call, seconds=60) == Applied[DeployedContainer](result=result)
    undone = await attempts.run(restore_container, receipt(call, result), seconds=60)
    assert undone.grade is Grade.EQUIVALENT
    assert snapshot(client) == before
    await attempts.run(restore_container, receipt(call, result), seconds=60)
    assert snapshot(client) == before


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"command": ["/bin/busybox", "sh", "-c", "/bin/busybox echo no luck; exit 3"]},
            "exit code 3.*no luck",
        ),
        ({"command": ["/no/such/program"]}, "no such file"),
        ({"image": "nowhere:9"}, "no image 'nowhere:9'"),
        ({"network": "no-such-network"}, "no-such-network"),
        ({"healthy_within": 0.5, "stays_up": 9.0}, "not healthy within 0.5 s"),
    ],
)
async def test_a_revision_that_does_not_come_up(
    client: docker.DockerClient, changes: dict[str, object], why: str
) -> None:
    """It is refused or fails with nothing left, and what ran before still runs."""
    await Remembering().run(deploy_container, wanted(), seconds=60)
    before, attempts, call = snapshot(client), Remembering(), wanted("2", "rsc-2", **changes)
    with pytest.raises((Refused, NothingHappened), match=f"(?s){why}"):
        await attempts.run(deploy_container, call, seconds=60)
    assert snapshot(client) == before
    assert await attempts.run(find_container, call, seconds=60) == Absent()
    await attempts.run(restore_container, never_made(call), seconds=60)
    assert snapshot(client) == before


async def test_the_same_revision_again(client: docker.DockerClient) -> None:
    """Another call changes nothing and says so, and its undo changes nothing."""
    first = await Remembering().run(deploy_container, wanted(), seconds=60)
    before, attempts, call = snapshot(client), Remembering(), wanted(key="rsc-2")
    result = await attempts.run(deploy_container, call, seconds=60)
    assert (result.changed, result.id) == (False, first.id)
    assert (await attempts.run(restore_container, receipt(call, result), seconds=60)).grade is Grade.NOTHING
    assert snapshot(client) == before


async def test_somebody_deployed_since(client: docker.DockerClient) -> None:
    """The undo is a conflict, and theirs goes on running."""
    await Remembering().run(deploy_container, wanted(), seconds=60)
    attempts, call = Remembering(), wanted("2", "rsc-2")
    result = await attempts.run(deploy_container, call, seconds=60)
    await Remembering().run(deploy_container, wanted("3", "rsc-3"), seconds=60)
    after = snapshot(client)
    with pytest.raises(Conflict, match="deployed again since"):
        await attempts.run(restore_container, receipt(call, result), seconds=60)
    assert snapshot(client) == after


async def test_the_previous_container_was_removed_since(client: docker.DockerClient) -> None:
    """The undo is a conflict, and the new revision goes on running."""
    first = await Remembering().run(deploy_container, wanted(), seconds=60)
    attempts, call = Remembering(), wanted("2", "rsc-2")
    result = await attempts.run(deploy_container, call, seconds=60)
    client.containers.get(first.id).remove()
    after = snapshot(client)
    with pytest.raises(Conflict, match="was removed since"):
        await attempts.run(restore_container, receipt(call, result), seconds=60)
    assert snapshot(client) == after


async def test_the_new_container_was_renamed_or_remade(client: docker.DockerClient) -> None:
    """The undo is a conflict, and the container stays."""
    attempts = Remembering()
    result = await attempts.run(deploy_container, wanted(), seconds=60)
    client.containers.get(result.id).rename("mine-now")
    after = snapshot(client)
    with pytest.raises(Conflict, match="mine-now"):
        await attempts.run(restore_container, receipt(wanted(), result), seconds=60)
    assert snapshot(client) == after


async def test_the_new_container_was_removed_by_hand(client: docker.DockerClient) -> None:
    """With nothing before it there is nothing to undo; with a previous revision, that runs again."""
    attempts = Remembering()
    first = await attempts.run(deploy_container, wanted(), seconds=60)
    before, second, call = snapshot(client), Remembering(), wanted("2", "rsc-2")
    result = await second.run(deploy_container, call, seconds=60)
    client.containers.get(result.id).remove(force=True)
    assert isinstance(await second.run(find_container, call, seconds=60), Unknown)
    await second.run(restore_container, receipt(call, result), seconds=60)
    assert snapshot(client) == before
    client.containers.get(first.id).remove(force=True)
    undone = await attempts.run(restore_container, receipt(wanted(), first), seconds=60)
    assert undone.grade is Grade.NOTHING


@pytest.mark.parametrize("point", ["created", "started", "healthy", "previous stopped"])
@pytest.mark.parametrize("activity", [deploy_container, find_container])
async def test_an_attempt_that_ended_half_way(
    client: docker.DockerClient, point: str, activity: object
) -> None:
    """A lookup takes it back or finds it complete; another attempt completes it; both undo to what was before."""
    first = await Remembering().run(deploy_container, wanted(), seconds=60)
    before, attempts, call = snapshot(client), Remembering(), wanted("2", "rsc-2")
    attempts.image = Before(previous=first.id).model_dump()
    labels = {"rescind.service": "web", "rescind.key": "rsc-2", "rescind.revision": "x"}
    ours = client.containers.create(IMAGE, SLEEP, name="web-rsc-2", labels=labels, network_mode="host")
    if point != "created":
        ours.start()
    if point == "previous stopped":
        client.containers.get(first.id).stop(timeout=2)
    if activity is find_container:
        found = await attempts.run(find_container, call, seconds=60)
        if point != "previous stopped":
            assert found == Absent()
            assert snapshot(client) == before
            return
        assert isinstance(found, Applied)
    result = await attempts.run(deploy_container, call, seconds=60)
    assert [each.id for each in client.containers.list()] == [result.id]
    await attempts.run(restore_container, receipt(call, result), seconds=60)
    assert snapshot(client) == before


async def test_two_containers_of_one_service(client: docker.DockerClient) -> None:
    """Which one to replace can't be told, so the call is refused."""
    for name in ("one", "two"):
        client.containers.run(
            IMAGE, SLEEP, name=name, labels={"rescind.service": "web"}, network_mode="host", detach=True
        )
    before = snapshot(client)
    with pytest.raises(Refused, match="more than one container"):
        await Remembering().run(deploy_container, wanted(), seconds=60)
    assert snapshot(client) == before


async def test_no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing happened, another attempt makes sense, and the error says where none was found."""
    monkeypatch.setenv("RESCIND_DOCKER_HOST", "unix:///no/such/docker")
    with pytest.raises(NothingHappened, match="docker: No such file"):
        await Remembering().run(deploy_container, wanted(), seconds=5)


async def test_a_connection_to_the_engine_that_is_cut(tmp_path: Path) -> None:
    """Once the request was sent, that proves nothing either way."""
    path = str(tmp_path / "docker.sock")

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    def ask() -> BaseException:
        with contextlib.closing(docker.APIClient(base_url=f"unix://{path}", version="1.41")) as api:
            with pytest.raises(requests.exceptions.ConnectionError) as caught:
                api.start("x")
            return caught.value

    async with await asyncio.start_unix_server(hang_up, path):
        assert proves(await asyncio.to_thread(ask)) is None
