"""Errors of the clients that do not speak HTTP: aiosmtplib, psycopg, git."""

from __future__ import annotations

import asyncio
import json
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import psycopg
import pytest

from activities._git_remote import Update, git_remote
from activities._smtp import send, written
from tests.docs.errors.over_http import Produce
from tests.docs.errors.sockets import HANG, speaking_smtp

HELLO = [b"220 hello", b"250 hello", b"250 ok", b"250 ok", b"354 go on"]


def smtp_error(replies: Sequence[bytes] | None) -> Produce:
    def produce() -> BaseException:
        if replies is None:
            return _not_sent(1)
        with speaking_smtp(replies) as port:
            return _not_sent(port)

    return produce


def _not_sent(port: int) -> BaseException:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("RESCIND_SMTP", f"127.0.0.1:{port}")
        environment.setenv("RESCIND_HTTP_SECONDS", "0.5")
        with pytest.raises(Exception, match=r".") as caught:
            asyncio.run(send(written("rsc-1", "ada@example.com", "x", "x")))
    return caught.value


def postgres_error(code: str) -> Callable[[str], BaseException]:
    def produce(dsn: str) -> BaseException:
        with psycopg.connect(dsn) as connection, pytest.raises(psycopg.Error) as caught:
            connection.execute(f"DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '{code}'; END $$".encode())
        return caught.value

    return produce


def killed_at_commit(dsn: str) -> BaseException:
    with psycopg.connect(dsn) as connection, psycopg.connect(dsn, autocommit=True) as admin:
        connection.execute("CREATE TEMPORARY TABLE t (x int)")
        admin.execute("SELECT pg_terminate_backend(%s, 5000)", (connection.info.backend_pid,))
        with pytest.raises(psycopg.OperationalError) as caught:
            connection.commit()
    return caught.value


def git_error(*, hook: str | None = None, url: str | None = None, old: str | None = None) -> Produce:
    def produce() -> BaseException:
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as environment:
            remote = Path(folder) / "remote.git"
            commit = _repository(remote, hook)
            aliases = {"app": str(remote), "elsewhere": url or str(remote)}
            environment.setenv("RESCIND_GIT_REMOTES", json.dumps(aliases))
            with git_remote("app" if url is None else "elsewhere") as far:
                if url is None:
                    far.fetch("refs/heads/main", 40)
                with pytest.raises(Exception, match=r".") as caught:
                    far.push(Update("refs/heads/new", old, commit))
        return caught.value

    return produce


def _repository(remote: Path, hook: str | None) -> str:
    def git(*words: str) -> str:
        identity = ("-c", "user.name=x", "-c", "user.email=x@example.com")
        ran = subprocess.run(
            ["git", *identity, "-C", str(remote), *words], check=True, capture_output=True, text=True
        )
        return ran.stdout.strip()

    remote.mkdir()
    git("init", "--quiet", "--bare", "--initial-branch=main")
    commit = git("commit-tree", "-m", "x", git("mktree", "--missing"))
    git("update-ref", "refs/heads/main", commit)
    if hook:
        path = remote / "hooks" / "pre-receive"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{hook}\n")
        path.chmod(0o755)
    return commit


SMTP: dict[str, Produce] = {
    "connection refused": smtp_error(None),
    "no greeting": smtp_error([b""]),
    "greeting 421": smtp_error([b"421 busy"]),
    "greeting 554": smtp_error([b"554 no mail here"]),
    "MAIL 451": smtp_error([*HELLO[:2], b"451 later"]),
    "MAIL 550": smtp_error([*HELLO[:2], b"550 no"]),
    "RCPT 450": smtp_error([*HELLO[:3], b"450 later"]),
    "RCPT 550": smtp_error([*HELLO[:3], b"550 no such user"]),
    "connection dropped at RCPT": smtp_error([*HELLO[:3], b""]),
    "time-out at RCPT": smtp_error([*HELLO[:3], HANG]),
    "DATA 451": smtp_error([*HELLO[:4], b"451 later"]),
    "final dot 451": smtp_error([*HELLO, b"451 later"]),
    "final dot 554": smtp_error([*HELLO, b"554 no"]),
    "connection dropped at the final dot": smtp_error([*HELLO, b""]),
    "time-out at the final dot": smtp_error([*HELLO, HANG]),
}
POSTGRES: dict[str, Callable[[str], BaseException]] = {
    f"{code} {words}": postgres_error(code)
    for code, words in (
        ("23505", "unique_violation"),
        ("42P07", "duplicate_table"),
        ("22001", "string too long"),
        ("40001", "serialization_failure"),
        ("40P01", "deadlock_detected"),
        ("55P03", "lock_not_available"),
        ("57014", "query_canceled"),
        ("53300", "too_many_connections"),
        ("57P01", "admin_shutdown"),
        ("XX000", "internal_error"),
    )
} | {"connection lost at COMMIT": killed_at_commit}
GIT: dict[str, Produce] = {
    "connection refused": git_error(url="git://127.0.0.1:1/app.git"),
    "a hook declines": git_error(hook="exit 1"),
    "the ref has moved": git_error(old="1" * 40),
    "the remote dies in the push": git_error(hook="kill -9 $PPID"),
}
