"""Each kind of leftover shows in the difference of two snapshots, and nothing else does."""

import io
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import boto3
import httpx
import psycopg
import pytest
from rich.console import Console

from embedded import NotLoopbackError, Stack, StandInError, environment
from embedded.environment import SOCKET_VARIABLE, only
from embedded.git import git
from embedded.world import difference, listing, snapshot

Settings = dict[str, str]


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Stand-ins of this module's own, with something in each."""
    with Stack(tmp_path_factory.mktemp("world"), ui_port=0) as stack:
        made = environment(stack.description)
        made.pop(SOCKET_VARIABLE, None)  # others use the machine's Docker engine meanwhile
        statement(made, "create table orders (id int primary key, note text default 'none')")
        statement(made, "insert into orders values (1), (2)")
        s3, ecs = clients(made)
        s3.create_bucket(Bucket="there")
        s3.put_object(Bucket="there", Key="file", Body=b"before")
        ecs.create_cluster(clusterName="there")
        yield made


def statement(settings: Settings, words: str) -> None:
    """Runs SQL in the application's database."""
    with psycopg.connect(json.loads(settings["RESCIND_DATABASES"])["app"], autocommit=True) as connection:
        connection.execute(words.encode())


def clients(settings: Settings) -> tuple[Any, Any]:
    """S3 and ECS."""
    with only(settings):
        return boto3.client("s3"), boto3.client("ecs")


def ref(settings: Settings, words: str) -> None:
    """Runs git in the repository."""
    git(Path(json.loads(settings["RESCIND_GIT_REMOTES"])["app"]), settings, *words.split())


Change = Callable[[Settings], object]


def sql(words: str, undo: str) -> tuple[Change, Change]:
    """A leftover in the database and its removal."""
    return partial(statement, words=words), partial(statement, words=undo)


def refs(plant: str, remove: str) -> tuple[Change, Change]:
    """A leftover in the repository and its removal."""
    return partial(ref, words=plant), partial(ref, words=remove)


def call(settings: Settings, client: int, name: str, what: dict[str, Any]) -> None:
    """Calls S3 (0) or ECS (1)."""
    getattr(clients(settings)[client], name)(**what)


def s3(plant: str, remove: str, *, then: dict[str, Any], **what: Any) -> tuple[Change, Change]:
    """A leftover in S3 and its removal."""
    return partial(call, client=0, name=plant, what=what), partial(call, client=0, name=remove, what=then)


def ecs(plant: str, remove: str, *, then: dict[str, Any], **what: Any) -> tuple[Change, Change]:
    """A leftover in ECS and its removal."""
    return partial(call, client=1, name=plant, what=what), partial(call, client=1, name=remove, what=then)


def file(settings: Settings, text: str | None) -> None:
    """Writes a file into the folder, or removes it."""
    place = Path(json.loads(settings["RESCIND_FILE_ROOTS"])["app"]) / "left.txt"
    place.unlink() if text is None else place.write_text(text)


def machines(settings: Settings) -> Any:
    """EC2."""
    with only(settings):
        return boto3.client("ec2")


def launch(settings: Settings) -> None:
    """Launches a machine."""
    ec2 = machines(settings)
    image = ec2.describe_images(Owners=["amazon"])["Images"][0]["ImageId"]
    ec2.run_instances(ImageId=image, MinCount=1, MaxCount=1)


def terminate(settings: Settings) -> None:
    """Terminates every machine."""
    ec2 = machines(settings)
    found = [
        one["InstanceId"] for each in ec2.describe_instances()["Reservations"] for one in each["Instances"]
    ]
    ec2.terminate_instances(InstanceIds=found)


BEFORE = {"Bucket": "there", "Key": "file", "Body": b"before"}
CONTAINER = {"name": "web", "image": "web:1", "memory": 64}
LEFTOVERS: dict[str, tuple[Change, Change, str]] = {
    "branch": (
        *refs("branch left main", "branch -D left"),
        "new: git / app / refs/heads/left = ",
    ),
    "hidden ref": (
        *refs("update-ref refs/markers/left refs/heads/main", "update-ref -d refs/markers/left"),
        "new: git / app / refs/markers/left = ",
    ),
    "head": (
        *refs("symbolic-ref HEAD refs/heads/other", "symbolic-ref HEAD refs/heads/main"),
        "gone: git / app / HEAD = 'ref: refs/heads/main'",
    ),
    "bucket": (
        *s3("create_bucket", "delete_bucket", then={"Bucket": "left"}, Bucket="left"),
        "new: buckets / left / versioning = ",
    ),
    "bucket's tag": (
        *s3(
            "put_bucket_tagging",
            "delete_bucket_tagging",
            then={"Bucket": "there"},
            Bucket="there",
            Tagging={"TagSet": [{"Key": "owner", "Value": "me"}]},
        ),
        "new: buckets / there / tags / owner = 'me'",
    ),
    "object": (
        *s3(
            "put_object",
            "delete_object",
            then={"Bucket": "there", "Key": "left"},
            Bucket="there",
            Key="left",
            Body=b"x",
        ),
        "new: buckets / there / objects / left / sha256 = ",
    ),
    "object's content of the same size": (
        *s3("put_object", "put_object", then=BEFORE, **{**BEFORE, "Body": b"behind"}),
        "changed: buckets / there / objects / file / sha256: ",
    ),
    "object's metadata": (
        *s3("put_object", "put_object", then=BEFORE, **BEFORE, Metadata={"by": "me"}),
        "new: buckets / there / objects / file / metadata / by = 'me'",
    ),
    "file": (
        partial(file, text="x"),
        partial(file, text=None),
        "new: files / app/left.txt = '644 ",
    ),
    "machine": (launch, terminate, "new: machines / i-"),
    "schema": (
        *sql("create schema left_over", "drop schema left_over"),
        "new: databases / app / schemas / left_over",
    ),
    "table": (
        *sql("create table left_over ()", "drop table left_over"),
        "new: databases / app / relations / public.left_over / kind = 'table'",
    ),
    "column": (
        *sql(
            "alter table orders add price numeric(9, 2) not null default 1", "alter table orders drop price"
        ),
        "new: databases / app / relations / public.orders / columns / price = '3. numeric(9,2) not null default 1'",
    ),
    "renamed table": (
        *sql("alter table orders rename to bills", "alter table bills rename to orders"),
        "new: databases / app / relations / public.bills / kind = 'table'",
    ),
    "default": (
        *sql(
            "alter table orders alter note set default 'x'",
            "alter table orders alter note set default 'none'",
        ),
        "changed: databases / app / relations / public.orders / columns / note: ",
    ),
    "constraint": (
        *sql(
            "alter table orders add constraint few check (id < 9)", "alter table orders drop constraint few"
        ),
        "new: databases / app / relations / public.orders / constraints / few = 'CHECK ((id < 9))'",
    ),
    "index": (
        *sql("create index left_over on orders (note)", "drop index left_over"),
        "new: databases / app / relations / public.orders / indexes / left_over = ",
    ),
    "comment": (
        *sql("comment on table orders is 'mine'", "comment on table orders is null"),
        "changed: databases / app / relations / public.orders / comment: '' became 'mine'",
    ),
    "function": (
        *sql("create function f() returns int return 1", "drop function f()"),
        "new: databases / app / routines / public: f() = ",
    ),
    "enum": (
        *sql("create type mood as enum ('a', 'b')", "drop type mood"),
        "new: databases / app / types / public.mood",
    ),
    "row": (
        *sql("insert into orders values (3)", "delete from orders where id = 3"),
        """new: databases / app / relations / public.orders / rows / {"id": 3, "note": "none"} = 1""",
    ),
    "row's value": (
        *sql("update orders set note = 'x' where id = 2", "update orders set note = 'none' where id = 2"),
        """gone: databases / app / relations / public.orders / rows / {"id": 2, "note": "none"} = 1""",
    ),
    "cluster": (
        *ecs("create_cluster", "delete_cluster", then={"cluster": "left"}, clusterName="left"),
        "new: clusters / left / status = 'ACTIVE'",
    ),
    "task definition": (
        *ecs(
            "register_task_definition",
            "deregister_task_definition",
            then={"taskDefinition": "left:1"},
            family="left",
            containerDefinitions=[CONTAINER],
        ),
        "new: task_definitions / left:1 / web = 'web:1'",
    ),
}


@pytest.mark.parametrize("kind", LEFTOVERS)
def test_one_leftover(settings: Settings, kind: str) -> None:
    """It is named; once it is removed by hand the worlds are equal again."""
    plant, remove, expected = LEFTOVERS[kind]
    before = snapshot(settings)
    plant(settings)
    planted = snapshot(settings)
    remove(settings)
    after = snapshot(settings)
    assert planted != before
    lines = difference(before, planted)
    assert any(line.startswith(expected) for line in lines), lines
    assert (after, difference(before, after)) == (before, [])


def test_an_empty_thing_beside_another_change(settings: Settings) -> None:
    """A bucket with nothing in it and no tags is told, whatever else differs."""
    before = snapshot(settings)
    s3, _ = clients(settings)
    s3.create_bucket(Bucket="empty")
    s3.create_bucket(Bucket="tagged")
    s3.put_bucket_tagging(Bucket="tagged", Tagging={"TagSet": [{"Key": "k", "Value": "v"}]})
    told = difference(before, snapshot(settings))
    for name in ("empty", "tagged"):
        s3.delete_bucket(Bucket=name)
    assert "new: buckets / tagged / tags / k = 'v'" in told
    assert "new: buckets / empty / objects = {}" in told
    assert difference(before, snapshot(settings)) == []


def test_a_service(settings: Settings) -> None:
    """A service, its wanted count and its task definition are told apart."""
    _, client = clients(settings)
    client.register_task_definition(family="served", containerDefinitions=[CONTAINER])
    client.register_task_definition(family="served", containerDefinitions=[{**CONTAINER, "image": "web:2"}])
    before = snapshot(settings)
    client.create_service(cluster="there", serviceName="web", taskDefinition="served:1", desiredCount=1)
    first = snapshot(settings)
    client.update_service(cluster="there", service="web", taskDefinition="served:2", desiredCount=2)
    second = snapshot(settings)
    client.delete_service(cluster="there", service="web", force=True)
    assert "new: clusters / there / services / web / task_definition = 'served:1'" in difference(
        before, first
    )
    assert difference(first, second) == [
        "changed: clusters / there / services / web / desired: 1 became 2",
        "changed: clusters / there / services / web / task_definition: 'served:1' became 'served:2'",
    ]
    assert difference(before, snapshot(settings)) == []


def test_a_message(settings: Settings) -> None:
    """What was said stays said: a message can't be taken back, and shows."""
    before = snapshot(settings)
    hook = json.loads(settings["RESCIND_CHAT_WEBHOOKS"])["ops"]
    httpx.post(hook, json={"text": "hello"}, trust_env=False)
    lines = difference(before, snapshot(settings))
    assert "new: messages / 000001 / body / text = 'hello'" in lines


def test_a_schema_that_is_left_out(settings: Settings) -> None:
    """What is in it is not looked at, the rest is."""
    before = snapshot(settings, without_schemas=["markers"])
    statement(settings, "create schema markers create table marks (key text)")
    assert difference(before, snapshot(settings, without_schemas=["markers"])) == []
    assert difference(before, snapshot(settings)) != []
    statement(settings, "drop schema markers cascade")


def test_an_address_that_leads_away(settings: Settings) -> None:
    """Nothing is asked anywhere."""
    with pytest.raises(NotLoopbackError, match="RESCIND_S3_ENDPOINT"):
        snapshot({**settings, "RESCIND_S3_ENDPOINT": "https://10.0.0.1"})


def test_a_repository_that_cannot_be_read(settings: Settings) -> None:
    """The error says which one and what git said, instead of taking it for empty."""
    with pytest.raises(StandInError, match="git cannot read /nowhere; nothing was changed"):
        snapshot({**settings, "RESCIND_GIT_REMOTES": '{"app": "/nowhere"}'})


def test_a_listing(settings: Settings) -> None:
    """A person sees every branch, bucket, table and cluster by name."""
    console = Console(file=io.StringIO(), width=120)
    # The engine is the whole machine's, and other tests are at work on it.
    world = snapshot(settings).model_copy(update={"containers": {}})
    console.print(listing(world))
    out = console.file
    assert isinstance(out, io.StringIO)
    for expected in ("refs/heads/main", "there", "file", "public.orders", "Containers: none"):
        assert expected in out.getvalue()
