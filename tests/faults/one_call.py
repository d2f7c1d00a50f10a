"""One call to one provider with its real client: `python -m tests.faults.one_call PROVIDER ADDRESS NAME SECONDS`."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable

import boto3
import docker
import httpx
import psycopg
from botocore.config import Config
from psycopg import sql

AWS = boto3.Session(region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test")
IMAGE = "faults:1"


def git(address: str, name: str, seconds: float) -> None:
    """Pushes a new branch of this name, with a commit of its own."""
    with tempfile.TemporaryDirectory() as folder:
        identity = {"NAME": "a", "EMAIL": "a@b"}
        environment = {"PATH": os.environ["PATH"], "HOME": folder, "GIT_CONFIG_NOSYSTEM": "1"}
        for who in ("AUTHOR", "COMMITTER"):
            environment |= {f"GIT_{who}_{part}": value for part, value in identity.items()}

        def run(*arguments: str) -> None:
            command = ["git", "-C", folder, *arguments]
            done = subprocess.run(
                command, check=False, env=environment, capture_output=True, text=True, timeout=seconds
            )
            if done.returncode:
                raise RuntimeError(f"git ended with {done.returncode}: {done.stdout}{done.stderr}")

        run("init", "--quiet", "--initial-branch=main")
        run("commit", "--quiet", "--allow-empty", "--message=one")
        run("push", "--porcelain", address, f"HEAD:refs/heads/{name}")


def postgres(address: str, name: str, seconds: float) -> None:
    """Adds a column of this name to the table t, in a transaction."""
    with psycopg.connect(address, connect_timeout=round(seconds)) as connection, connection.transaction():
        connection.execute("SELECT count(*) FROM t")
        connection.execute(sql.SQL("ALTER TABLE t ADD COLUMN {} int").format(sql.Identifier(name)))


def _config(seconds: float) -> Config:
    return Config(retries={"total_max_attempts": 1}, read_timeout=seconds, connect_timeout=seconds)


def s3(address: str, name: str, seconds: float) -> None:
    """Creates a bucket of this name."""
    client = AWS.client("s3", endpoint_url=address, config=_config(seconds))
    try:
        client.create_bucket(Bucket=name)
    finally:
        client.close()


def ecs(address: str, name: str, seconds: float) -> None:
    """Registers a task definition of this family."""
    client = AWS.client("ecs", endpoint_url=address, config=_config(seconds))
    try:
        client.register_task_definition(
            family=name, containerDefinitions=[{"name": "web", "image": "web:1", "memory": 16}]
        )
    finally:
        client.close()


def engine(address: str, name: str, seconds: float) -> None:
    """Creates a container of this name, and does not start it."""
    client = docker.DockerClient(
        base_url=address.replace("http:", "tcp:"), timeout=round(seconds), version="1.41"
    )
    try:
        client.containers.create(IMAGE, "true", name=name)
    finally:
        client.close()


def chat(address: str, name: str, seconds: float) -> None:
    """Posts a message with this text; no environment of the user's takes part."""
    with httpx.Client(timeout=seconds, trust_env=False) as client:
        client.post(f"{address}/hook/ops", json={"text": name}).raise_for_status()


CALLS: dict[str, Callable[[str, str, float], None]] = {
    "git": git,
    "postgres": postgres,
    "s3": s3,
    "ecs": ecs,
    "docker": engine,
    "chat": chat,
}

if __name__ == "__main__":
    provider, its_address, its_name, its_seconds = sys.argv[1:]
    CALLS[provider](its_address, its_name, float(its_seconds))
