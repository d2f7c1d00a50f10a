"""The demo's runs: of each agent one that works, and real causes of failure."""

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3

from demo.business import business_cases
from demo.case import Case, Place

HOOK = """#!/bin/sh
# Declines one branch, as a server with a rule for names would.
[ "$1" = refs/heads/{branch} ] || exit 0
echo "this server takes no branch of the name {branch}" >&2
exit 1
"""


def cases(provider: str) -> list[Case]:
    """The runs, for containers on `docker` or on `ecs`."""
    return [
        Case("ok", "everything works"),
        Case("branch", "the git server's hook declines the branch", (), _hook_declines, "create_branch#1"),
        Case(
            "bucket", "the bucket's name is taken by somebody else", (), _bucket_is_taken, "create_bucket#1"
        ),
        Case(
            "schema",
            "the migration changes a table that does not exist",
            ("--up", "ALTER TABLE no_such_table ADD COLUMN plan text", "--down", "SELECT 1"),
            fails_at="migrate#1",
        ),
        _deployment_fails(provider),
        Case("chat", "the chat's webhook was revoked", ("--webhook", "revoked"), fails_at="notify#1"),
        *business_cases(),
    ]


def with_revoked_webhook(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a worker that also knows a webhook which the chat does not have any more."""
    webhooks = json.loads(environment["RESCIND_CHAT_WEBHOOKS"])
    revoked = webhooks["ops"].replace("/hook/", "/revoked/")
    return {**environment, "RESCIND_CHAT_WEBHOOKS": json.dumps(webhooks | {"revoked": revoked})}


@contextmanager
def _hook_declines(place: Place, name: str) -> Generator[tuple[str, ...]]:
    hook: Path = place.stack.directory / "git" / "app.git" / "hooks" / "update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(HOOK.format(branch=f"env/{name}"))
    hook.chmod(0o755)
    try:
        yield ()
    finally:
        hook.unlink()


@contextmanager
def _bucket_is_taken(place: Place, name: str) -> Generator[tuple[str, ...]]:
    s3: Any = boto3.client(
        "s3",
        endpoint_url=place.environment["RESCIND_S3_ENDPOINT"],
        region_name=place.environment["AWS_REGION"],
        aws_access_key_id=place.environment["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=place.environment["AWS_SECRET_ACCESS_KEY"],
    )
    s3.create_bucket(Bucket=f"env-{name}")
    try:
        yield ()
    finally:
        s3.delete_bucket(Bucket=f"env-{name}")
        s3.close()


def _deployment_fails(provider: str) -> Case:
    if provider == "docker":
        story, options = "the engine has no such image, and none is pulled", ("--image", "rescind-demo:none")
    else:
        story, options = "ECS has no such cluster", ("--cluster", "no-such-cluster")
    return Case("deploy", story, options, fails_at="deploy#1")
