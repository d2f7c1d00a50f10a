"""A shop with its own codec, interceptor, activities and old histories keeps them all and gains a tool and a saga."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from pydantic import JsonValue
from temporalio.client import Client

from rescind.ledger._install import install

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
OLD_HISTORY = HERE / "histories" / "greeting.json"
ENCRYPTED = "YmluYXJ5L2VuY3J5cHRlZA=="
"""`binary/encrypted` in base64, as a history shows a payload's encoding."""


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="session")
def told(
    wheel: Path, stack_environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What the shop says after it has run in an environment of its own, with the wheel."""
    folder = tmp_path_factory.mktemp("shop")
    python = _environment(folder / "venv", wheel)
    shutil.copytree(HERE / "shop", folder / "shop", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "shelf").mkdir()
    install(stack_environment["RESCIND_LEDGER_ADMIN_DSN"], workers=["rescind_ledger_worker"])
    address, ledger = stack_environment["TEMPORAL_ADDRESS"], stack_environment["RESCIND_LEDGER_DSN"]
    done = subprocess.run(
        [str(python), "-m", "shop.run", address, ledger, str(OLD_HISTORY)],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "SHOP_SHELF": str(folder / "shelf")},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said | {"venv": str(folder / "venv")}


def _environment(folder: Path, wheel: Path) -> Path:
    """An environment with the wheel, and the libraries of the running one behind it."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    command = ["-m", "pip", "--python", str(python), "install", "-q", "--no-deps", "--no-index", str(wheel)]
    subprocess.run([sys.executable, *command], check=True, capture_output=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def test_the_wheel_holds_the_sdk_only(wheel: Path) -> None:
    """It has `rescind`, all of its SQL and its types, and nothing of this application."""
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"rescind", f"{wheel.name.split('-py3')[0]}.dist-info"}
    wanted = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "rescind").rglob("*")
        if path.suffix in (".py", ".sql") or path.name == "py.typed"
    }
    assert "rescind/py.typed" in wanted
    assert any(name.endswith(".sql") for name in wanted)
    assert {name for name in names if name.startswith("rescind/")} == wanted


def test_the_wheels_metadata(wheel: Path) -> None:
    """It needs what the SDK imports; providers' clients are extras."""
    metadata = _metadata(wheel)
    requires = list(metadata.get_all("Requires-Dist", []))
    needed = {_name(each) for each in requires if "extra ==" not in each}
    optional = {_name(each) for each in requires if "extra ==" in each}
    assert needed == {"temporalio", "pydantic", "psycopg", "stamina", "typer", "rich"}
    assert {"aws", "docker", "http"} <= set(metadata.get_all("Provides-Extra", []))
    assert {"boto3", "docker", "httpx"} <= optional
    assert metadata["License-Expression"] == "Apache-2.0"


def _metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as opened:
        (name,) = (name for name in opened.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(opened.read(name).decode())


def _name(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9_.-]", requirement)[0]


def test_it_is_the_wheels_rescind_that_runs(told: dict[str, Any]) -> None:
    """The SDK comes from the shop's environment, and no module of this application can be imported there."""
    assert told["rescind"].startswith(told["venv"])
    assert told["importable"] == []


def test_what_the_shop_had_goes_on(told: dict[str, Any]) -> None:
    """Its workflow answers as before, its interceptor sees its activity and those of the saga."""
    assert told["greeting"] == "hello Ada Lovelace, for the 4th time"
    assert told["ran"]["greet"] == 1
    assert told["ran"]["put_aside"] == 3
    assert told["ran"]["put_back"] == 1


def test_what_the_shop_gains(told: dict[str, Any]) -> None:
    """A saga that stands when it is committed, and leaves the shelf as it was when a book can't be had."""
    assert told["done"] == ["Lovelace"]
    assert told["shelf after done"] == ["Lovelace"]
    assert told["undone"] == [
        "SagaUndone",
        "put_aside#2 failed: out of print: there is none. 1 step had taken effect and is undone",
    ]
    assert told["shelf after undone"] == ["Lovelace"]


@pytest.mark.parametrize("run", ["greeting", "done", "undone"])
async def test_the_server_sees_nothing_in_plain_text(
    told: dict[str, Any], stack_environment: dict[str, str], run: str
) -> None:
    """All payloads of the histories are encrypted, the saga's included; no word of a customer or a book is found."""
    client = await Client.connect(stack_environment["TEMPORAL_ADDRESS"])
    history = await client.get_workflow_handle(f"{told['queue']}/{run}").fetch_history()
    encodings = [encoding for event in history.events for encoding in _encodings(MessageToDict(event))]
    assert len(encodings) > 3
    assert set(encodings) == {ENCRYPTED}
    plain = b"".join(event.SerializeToString() for event in history.events)
    for word in (b"Lovelace", b"Babbage", b"out of print", b"put aside"):
        assert word not in plain


def _encodings(part: JsonValue) -> list[str]:
    """The encodings of the payloads in a part of a history.

    What the SDK's core notes of a local activity for itself is left out: its number, type and times.
    """
    if isinstance(part, list):
        return [encoding for each in part for encoding in _encodings(each)]
    if not isinstance(part, dict):
        return []
    metadata = part.get("metadata")
    if isinstance(metadata, dict) and "encoding" in metadata:
        return [str(metadata["encoding"])]
    details = part.get("details")
    if part.get("markerName") == "core_local_activity" and isinstance(details, dict):
        return _encodings(details.get("result"))
    return [encoding for each in part.values() for encoding in _encodings(each)]
