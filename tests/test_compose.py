"""What docker-compose.yml promises, read from the file, since images can't be pulled everywhere."""

import importlib
import re
import shutil
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest
import yaml

import activities
from rescind import Tool
from tests.compose_file import COMPOSE, ROOT, compose, services

TAG = re.compile(r"^[a-z0-9./-]+:v?\d+\.\d+(\.\d+)?$")


def tools() -> list[Tool[Any, Any]]:
    """Every tool of this application, found in its modules."""
    modules = [
        importlib.import_module(f"activities.{found.name}") for found in iter_modules(activities.__path__)
    ]
    return [value for module in modules for value in vars(module).values() if isinstance(value, Tool)]


def is_job(service: dict[str, Any]) -> bool:
    return bool(service["restart"] == "no")


def mounts() -> Iterator[tuple[str, str]]:
    """Each mount of each service, as service and source."""
    for name, service in services().items():
        for mount in service.get("volumes", []):
            yield name, mount.split(":")[0]


def test_every_port_is_on_loopback() -> None:
    """Nobody but this machine can reach a port that the deployment publishes."""
    ports = [str(port) for service in services().values() for port in service.get("ports", [])]
    assert ports
    assert [port for port in ports if not port.startswith("127.0.0.1:")] == []


def test_no_service_takes_the_hosts_network() -> None:
    """No service goes round the published ports."""
    assert [name for name, service in services().items() if "network_mode" in service] == []


def test_every_image_is_pinned() -> None:
    """Each image has a tag with a version."""
    images = [service["image"] for service in services().values()]
    assert [image for image in images if not TAG.match(image)] == []


def test_one_version_of_each_image() -> None:
    """Services of one image run one version, and Temporal's tools are of the server's version."""
    tags: dict[str, set[str]] = {}
    for service in services().values():
        image, tag = service["image"].split(":")
        tags.setdefault(image, set()).add(tag)
    assert {image: found for image, found in tags.items() if len(found) > 1} == {}
    assert tags["temporalio/admin-tools"] == tags["temporalio/server"]


def test_nothing_deprecated() -> None:
    """There is no `version` key and no auto-setup image."""
    assert "version" not in compose()
    assert "auto-setup" not in COMPOSE.read_text()


def test_everything_that_stays_has_a_health_check_and_a_restart_policy() -> None:
    """A service is either a job that runs once, or is checked and started again when it ends."""
    staying = {name: service for name, service in services().items() if not is_job(service)}
    assert [name for name, service in staying.items() if not service.get("healthcheck", {}).get("test")] == []
    assert [name for name, service in staying.items() if service["restart"] != "unless-stopped"] == []


def test_every_dependency_has_a_condition_that_can_come_true() -> None:
    """A service waits for a healthy service or for a finished job, never just for a start."""
    known = services()
    for name, service in known.items():
        for other, wait in service.get("depends_on", {}).items():
            expected = "service_completed_successfully" if is_job(known[other]) else "service_healthy"
            assert wait == {"condition": expected}, f"{name} -> {other}"


def test_the_order_of_a_first_start() -> None:
    """A worker starts only after the schema, the namespace, the ledger and its logins are there."""
    known = services()

    def before(name: str) -> set[str]:
        direct = set(known[name].get("depends_on", {}))
        return direct.union(*(before(other) for other in direct))

    assert {"temporal-schema", "temporal", "temporal-namespace", "ledger-install", "ledger-logins"} < before(
        "worker"
    )


def test_volumes_are_named_and_declared() -> None:
    """All data lies in declared, named volumes, and none is declared in vain."""
    named = {source for _, source in mounts() if not source.startswith(".")}
    assert named == set(compose()["volumes"])


def test_data_of_a_database_lies_in_its_volume() -> None:
    """Each PostgreSQL 18 mounts a volume of its own where the image keeps its data since version 18."""
    targets = {
        name: service["volumes"]
        for name, service in services().items()
        if service["image"].startswith("postgres:") and not is_job(service)
    }
    assert targets == {
        name: [f"{name}:/var/lib/postgresql"] for name in ("temporal-db", "ledger-db", "app-db", "sandbox-db")
    }


def test_mounted_files_exist() -> None:
    """Each file or folder mounted from the repository is in it, and so is each script that is run there."""
    missing = [source for _, source in mounts() if source.startswith(".") and not (ROOT / source).exists()]
    assert missing == []
    scripts = re.findall(r"/deploy/[\w/.-]+\.sh", COMPOSE.read_text())
    assert scripts
    assert [script for script in scripts if not (ROOT / script[1:]).is_file()] == []


def test_no_docker_socket() -> None:
    """No container can command the engine that runs it."""
    assert [source for _, source in mounts() if "docker.sock" in source] == []


def test_workers_get_no_administrators_password() -> None:
    """A worker reaches the ledger with the login that may only execute the protocol's functions."""
    worker = services()["worker"]["environment"]
    assert "//rescind_ledger_worker:" in worker["RESCIND_LEDGER_DSN"]
    assert [name for name in worker if "ADMIN" in name] == []
    assert "LEDGER_ADMIN_PASSWORD" not in str(services_uninterpolated()["worker"])


def services_uninterpolated() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load(COMPOSE.read_text())["services"]
    return found


def test_two_workers_that_may_finish() -> None:
    """Two workers run, SIGTERM reaches them, and they are given the time to finish their steps."""
    worker = services()["worker"]
    assert worker["scale"] == 2
    assert worker["init"] is True
    assert worker["command"] == ["python", "worker.py"]
    longest = max(time for tool in tools() for time in (tool.start_to_close, tool.undo_start_to_close))
    assert timedelta(seconds=int(worker["stop_grace_period"].removesuffix("s"))) > longest


def test_our_containers_have_no_rights_to_spare() -> None:
    """What runs our code cannot write outside its volumes and /tmp and cannot gain privileges."""
    ours = [service for service in services().values() if service["image"].startswith("rescind:")]
    assert len(ours) == 6
    for service in ours:
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]


@pytest.mark.skipif(shutil.which("docker-compose") is None, reason="no docker-compose program on the PATH")
@pytest.mark.parametrize("settings", ["defaults", "example.env"])
def test_compose_itself_takes_the_file(settings: str, tmp_path: Path) -> None:
    """`docker-compose config` finds nothing wrong, with the defaults and with deploy/example.env as .env."""
    env = tmp_path / ".env"
    env.write_text((ROOT / "deploy/example.env").read_text() if settings == "example.env" else "")
    command = ["docker-compose", "--env-file", str(env), "--file", str(COMPOSE), "config"]
    clean = {"PATH": "/usr/bin:/bin", "COMPOSE_PROJECT_NAME": "rescind", "HOME": str(tmp_path)}
    answer = subprocess.run(command, capture_output=True, text=True, check=False, env=clean)
    assert answer.returncode == 0, answer.stderr
    assert "WARNING" not in answer.stderr
    assert set(yaml.safe_load(answer.stdout)["services"]) <= set(services())
