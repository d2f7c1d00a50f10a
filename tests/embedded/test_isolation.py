"""Nothing that a user has set up leads the stand-ins, or what runs against them, to something real."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from embedded import NotLoopbackError, environment, require_loopback, require_stand_ins
from embedded.environment import ADDRESSES
from tests.embedded.up import ROOT, up

# What an unsuspecting client does: no endpoint, no address, only what the environment says.
CLIENT = """
import json, os, subprocess, sys
import boto3, docker, httpx, psycopg
from botocore.config import Config
from temporalio.envconfig import ClientConfigProfile

def attempt(call):
    try:
        call()
    except Exception as error:
        print(type(error).__name__, error)

quick = Config(connect_timeout=2, read_timeout=2, retries={"total_max_attempts": 1})
attempt(lambda: boto3.client("s3", config=quick).list_buckets())
attempt(lambda: boto3.client("ecs", config=quick).list_clusters())
attempt(lambda: docker.from_env(timeout=2).ping())
attempt(lambda: httpx.get(os.environ.get("RESCIND_S3_ENDPOINT", "http://127.0.0.1:9/"), timeout=2))
remote = json.loads(os.environ.get("RESCIND_GIT_REMOTES", '{"app": "/nowhere/app.git"}'))["app"]
subprocess.run(["git", "ls-remote", remote], timeout=20)
attempt(lambda: psycopg.connect(os.environ.get("RESCIND_LEDGER_ADMIN_DSN", ""), connect_timeout=2).close())
profile = ClientConfigProfile.load()
print("profile", profile.address, profile.api_key, bool(profile.tls))
"""


class Canary:
    """A server on loopback that stands for everything real; it counts who comes."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.heard: list[bytes] = []
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    def listen(self) -> None:
        """Notes the first bytes of each visitor and hangs up."""
        while True:
            try:
                visitor, _ = self.listener.accept()
            except OSError:
                return
            with visitor:
                visitor.settimeout(1)
                try:
                    self.heard.append(visitor.recv(200))
                except OSError:
                    self.heard.append(b"")


@pytest.fixture
def canary() -> Iterator[Canary]:
    """One for each test."""
    made = Canary()
    yield made
    made.listener.shutdown(socket.SHUT_RDWR)
    made.listener.close()
    made.thread.join()


def hostile_home(home: Path, port: int) -> None:
    """Every file of a user's home that a client reads, each naming the canary."""
    files = {
        ".aws/config": f"[default]\nendpoint_url = http://127.0.0.1:{port}\nregion = eu-west-1\n",
        ".aws/credentials": "[default]\naws_access_key_id = real\naws_secret_access_key = real\n",
        ".docker/config.json": '{"currentContext": "real", "credsStore": "real"}',
        ".gitconfig": f'[url "http://127.0.0.1:{port}/"]\n\tinsteadOf = /\n[core]\n\thooksPath = /real\n',
        ".pg_service.conf": f"[real]\nhost=127.0.0.1\nport={port}\n",
        ".pgpass": "*:*:*:*:real\n",
        ".netrc": "default login real password real\n",
        ".config/temporalio/temporal.toml": f'[profile.default]\naddress = "127.0.0.1:{port}"\napi_key = "real"\n',
        ".config/temporalio/temporal.yaml": f"env:\n  default:\n    address: 127.0.0.1:{port}\n    headless: 'true'\n",
    }
    for name, content in files.items():
        file = home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        file.chmod(0o600)


def hostile_environment(home: Path, port: int) -> dict[str, str]:
    """Every variable that a client reads, each naming the canary."""
    url = f"http://127.0.0.1:{port}"
    return {
        **{name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ},
        **dict.fromkeys(("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"), url),
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "LC_ALL": "xx_XX.nothing",
        "AWS_ENDPOINT_URL": url,
        "AWS_ENDPOINT_URL_S3": url,
        "AWS_PROFILE": "default",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI": url,
        "AWS_SESSION_TOKEN": "real",
        "AWS_CA_BUNDLE": "/real",
        "TEMPORAL_ADDRESS": f"127.0.0.1:{port}",
        "TEMPORAL_API_KEY": "real",
        "TEMPORAL_TLS": "true",
        "TEMPORAL_CONFIG_FILE": str(home / ".config/temporalio/temporal.toml"),
        "TEMPORAL_ENV_FILE": str(home / ".config/temporalio/temporal.yaml"),
        "DOCKER_HOST": f"tcp://127.0.0.1:{port}",
        "DOCKER_CONTEXT": "real",
        "GIT_DIR": "/real",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{url}/.insteadOf",
        "GIT_CONFIG_VALUE_0": "/",
        "GIT_CONFIG_GLOBAL": str(home / ".gitconfig"),
        "GIT_SSH_COMMAND": "/real",
        "PGSERVICE": "real",
        "PGSERVICEFILE": str(home / ".pg_service.conf"),
        "PGHOST": "127.0.0.1",
        "PGPORT": str(port),
        "PGOPTIONS": "-c nothing.real",
        "PGPASSFILE": str(home / ".pgpass"),
        "PGSSLMODE": "verify-full",
        "SLACK_BOT_TOKEN": "real",
        "STRIPE_API_KEY": "sk_live_real",
        "STRIPE_API_BASE": url,
        "SMTP_HOST": f"127.0.0.1:{port}",
        "RESCIND_STRIPE_API_KEY": "sk_live_real",
        "RESCIND_STRIPE_API_BASE": url,
        "RESCIND_SMTP": f"127.0.0.1:{port}",
        "RESCIND_SANDBOX_DSN": f"postgresql://127.0.0.1:{port}/real",
        "RESCIND_LEDGER_DSN": f"postgresql://127.0.0.1:{port}/real",
        "RESCIND_CHAT_WEBHOOKS": json.dumps({"ops": url}),
        "SSH_AUTH_SOCK": "/real",
        "KUBECONFIG": "/real",
    }


def run_client(settings: dict[str, str]) -> str:
    """What the unsuspecting client prints under these settings."""
    done = subprocess.run(
        [sys.executable, "-c", CLIENT],
        env=settings,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=90,
        check=True,
    )
    return done.stdout + done.stderr


def test_a_hostile_user(tmp_path: Path, canary: Canary) -> None:
    """`up`, `world` and a client in our environment never talk to what the user has set up; all of it works."""
    home = tmp_path / "home"
    hostile_home(home, canary.port)
    settings = hostile_environment(home, canary.port)
    with up(tmp_path / "data", environment=settings) as started:
        found = started.ready()
        listed = subprocess.run(
            [sys.executable, "-m", "embedded", "world", "--directory", str(tmp_path / "data")],
            env=settings,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        ours = environment(found, settings)
        said = run_client(ours)
    assert listed.returncode == 0, listed.stderr
    assert ours["RESCIND_STRIPE_API_KEY"] == "sk_test_stand_in"
    assert not {name for name in ours if name.startswith(("STRIPE_", "SMTP_"))}
    assert "refs/heads/main" in listed.stdout
    assert f"profile {found.services['temporal'].address} None False" in said
    assert "refs/heads/main" in said
    assert canary.heard == []
    assert "real" not in "".join(value for name, value in ours.items() if name != "PATH").replace("real/", "")


def test_the_canary_hears_without_isolation(tmp_path: Path, canary: Canary) -> None:
    """The test above can fail: the same client under the user's own settings goes to the canary."""
    home = tmp_path / "home"
    hostile_home(home, canary.port)
    said = run_client(hostile_environment(home, canary.port))
    assert f"profile 127.0.0.1:{canary.port} real True" in said
    heard = b"\n".join(canary.heard)
    for client in (b"Boto3/", b"ListClusters", b"docker-sdk-python/", b"python-httpx/", b"git/"):
        assert client in heard
    assert any(first.startswith(b"\x00\x00\x00\x08") for first in canary.heard), (
        "libpq asks for encryption first"
    )


AWAY = [
    "10.0.0.1:7233",
    "http://192.0.2.1/hook",
    "https://hooks.example.invalid/services/T000",
    "http://127.0.0.1@10.0.0.1/",
    "http://[2001:db8::1]:80/",
    "postgresql://u:p@127.0.0.1,10.0.0.5/db",
    "postgresql://u@127.0.0.1/db?hostaddr=10.0.0.1",
    "postgresql:///db",
    "host=127.0.0.1 hostaddr=10.0.0.1 dbname=x",
    "dbname=x",
    "postgresql://127.0.0.1:5432:x@/[",
    "git@github.com:someone/real.git",
    "ssh://git@10.0.0.1/real.git",
    "file://server/share/real.git",
    "tcp://0.0.0.0:2375",
    "http://[",
    "",
]


@pytest.mark.parametrize("address", AWAY)
def test_an_address_that_leads_away(address: str) -> None:
    """It is refused, by a message that names the setting and says that nothing was contacted."""
    with pytest.raises(NotLoopbackError, match=r"^SETTING is .*nothing was contacted\. Unset SETTING"):
        require_loopback(address, name="SETTING")


HERE = [
    "127.0.0.1:7233",
    "http://localhost:8233/path",
    "http://[::1]:80/",
    "postgresql://u:p@127.0.0.1:5432/db?sslmode=disable",
    "postgresql:///db?host=/tmp",
    "host=127.0.0.1 dbname=x",
    "/a/path/app.git",
    "file:///a/path/app.git",
    "unix:///var/run/docker.sock",
]


@pytest.mark.parametrize("address", HERE)
def test_an_address_on_this_machine(address: str) -> None:
    """It passes."""
    require_loopback(address)


def test_our_own_environment(stack_environment: dict[str, str]) -> None:
    """All of its addresses pass, and each one that is turned away from this machine is refused by name."""
    require_stand_ins(stack_environment)
    ours = {name for name, value in stack_environment.items() if name.startswith("RESCIND_") and ":" in value}
    assert ours <= set(ADDRESSES)
    away = {
        "RESCIND_LEDGER_DSN": "postgresql://10.0.0.1/ledger",
        "RESCIND_DATABASES": '{"app": "postgresql://10.0.0.1/app"}',
        "RESCIND_GIT_REMOTES": '{"app": "git@github.com:someone/real.git"}',
        "RESCIND_CHAT_WEBHOOKS": '{"ops": "https://10.0.0.1/services"}',
        "RESCIND_S3_ENDPOINT": "https://10.0.0.1",
        "RESCIND_ECS_ENDPOINT": "https://10.0.0.1",
        "TEMPORAL_ADDRESS": "10.0.0.1:7233",
    }
    for name, value in away.items():
        with pytest.raises(NotLoopbackError, match=name):
            require_stand_ins({**stack_environment, name: value})
