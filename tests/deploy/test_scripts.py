"""What the jobs and the git server of docker-compose.yml do on real servers."""

import socket
import subprocess
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client

from embedded import Description
from tests.deploy.conftest import DEPLOY


def run(script: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = ["sh", str(DEPLOY / script)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=100)


async def retention(surroundings: dict[str, str], namespace: str) -> timedelta:
    client = await Client.connect(surroundings["TEMPORAL_ADDRESS"])
    request = DescribeNamespaceRequest(namespace=namespace)
    answer = await client.workflow_service.describe_namespace(request)
    return answer.config.workflow_execution_retention_ttl.ToTimedelta()


async def test_a_namespace_that_is_not_there(surroundings: dict[str, str]) -> None:
    """It is created with the retention, and a second run with another retention changes just that."""
    wanted = surroundings | {"TEMPORAL_NAMESPACE": "team", "RETENTION": "240h"}
    first = run("temporal/create-namespace.sh", wanted)
    assert first.returncode == 0, first.stderr
    assert await retention(surroundings, "team") == timedelta(days=10)
    second = run("temporal/create-namespace.sh", wanted | {"RETENTION": "480h"})
    assert second.returncode == 0, second.stderr
    assert await retention(surroundings, "team") == timedelta(days=20)


def test_a_namespace_without_a_retention(surroundings: dict[str, str]) -> None:
    """A variable that is missing ends the job with its name, before anything is created."""
    done = run("temporal/create-namespace.sh", surroundings | {"TEMPORAL_NAMESPACE": "none"})
    assert done.returncode != 0
    assert "RETENTION" in done.stderr


def install(surroundings: dict[str, str]) -> None:
    command = ["python", "-m", "rescind.ledger", "install"]
    subprocess.run(command, env=surroundings, cwd=DEPLOY.parent, check=True, timeout=60)


def logins(servers: Description, surroundings: dict[str, str], password: str) -> dict[str, str]:
    """Runs the job and returns the address of each login."""
    port = str(servers.services["postgres"].port)
    admin = {"PGHOST": "127.0.0.1", "PGPORT": port, "PGUSER": "postgres", "PGDATABASE": "ledger"}
    secrets = {
        "PGPASSWORD": servers.password,
        "WORKER_PASSWORD": password,
        "READER_PASSWORD": password,
    }
    done = run("ledger/create-logins.sh", surroundings | admin | secrets)
    assert done.returncode == 0, done.stderr
    names = ("rescind_ledger_worker", "rescind_ledger_reader")
    return {name: f"postgresql://{name}:{password}@127.0.0.1:{port}/ledger?sslmode=disable" for name in names}


def test_logins_of_the_ledger(servers: Description, surroundings: dict[str, str]) -> None:
    """Installed twice, both logins have the last password, belong to one role each, and read no table."""
    install(surroundings)
    logins(servers, surroundings, "first-password")
    install(surroundings)
    found = logins(servers, surroundings, "second_password")
    for name, group in (
        ("rescind_ledger_worker", "rescind_worker"),
        ("rescind_ledger_reader", "rescind_reader"),
    ):
        with psycopg.connect(found[name], autocommit=True) as login:
            groups = login.execute(
                "select role.rolname from pg_auth_members join pg_roles role on role.oid = roleid"
                " join pg_roles one on one.oid = member where one.rolname = current_user"
            ).fetchall()
            assert groups == [(group,)]
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                login.execute("select * from rescind.effect")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                login.execute("create temporary table mine ()")


def test_a_stranger_in_the_ledgers_database(servers: Description, surroundings: dict[str, str]) -> None:
    """A login of the same server that is neither worker nor reader cannot connect to it."""
    install(surroundings)
    logins(servers, surroundings, "third-password")
    port = servers.services["postgres"].port
    with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
        psycopg.connect(f"postgresql://app:{servers.password}@127.0.0.1:{port}/ledger?sslmode=disable")


@pytest.fixture
def git_url(tmp_path: Path, surroundings: dict[str, str]) -> Iterator[str]:
    """The address of a repository that deploy/git/serve.sh has just created and serves."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    command = ["sh", str(DEPLOY / "git/serve.sh"), str(tmp_path / "repositories")]
    (tmp_path / "repositories").mkdir()
    server = subprocess.Popen(command, env=surroundings | {"PORT": str(port)})
    url = f"git://127.0.0.1:{port}/app.git"
    while git("ls-remote", "--exit-code", url, check=False).returncode and server.poll() is None:
        time.sleep(0.05)
    yield url
    server.terminate()
    server.wait(20)


def git(*words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *words], capture_output=True, text=True, check=check, timeout=30)


def test_the_git_server(git_url: str, tmp_path: Path) -> None:
    """It has one commit on main, and takes two refs in one atomic push from anybody who reaches it."""
    (main,) = [line.split() for line in git("ls-remote", git_url, "refs/heads/*").stdout.splitlines()]
    assert main[1] == "refs/heads/main"
    git("clone", "--quiet", git_url, str(tmp_path / "clone"))
    pushed = ("origin", "HEAD:refs/heads/one", "HEAD:refs/rescind/two")
    git("-C", str(tmp_path / "clone"), "push", "--quiet", "--atomic", *pushed)
    refs = git("ls-remote", git_url).stdout.splitlines()
    assert {f"{main[0]}\trefs/heads/one", f"{main[0]}\trefs/rescind/two"} < set(refs)
