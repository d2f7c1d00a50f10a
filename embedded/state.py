"""What is known of running stand-ins, in one file that others find them by."""

import os
import tempfile
from pathlib import Path
from typing import Literal

import psutil
from pydantic import BaseModel, ConfigDict, ValidationError

from embedded import ports

FILE = "stack.json"


class Identity(BaseModel, frozen=True):
    """One process, told apart from a later one with the same number by its start time in seconds."""

    pid: int
    started: float

    @classmethod
    def of(cls, pid: int) -> "Identity":
        """The process that has this number now; raises `psutil.NoSuchProcess` if there is none."""
        return cls(pid=pid, started=psutil.Process(pid).create_time())

    def process(self) -> psutil.Process | None:
        """The same process while it lives, else None; a zombie is not alive."""
        try:
            found = psutil.Process(self.pid)
            # Start times are kept in clock ticks and rounded differently across versions of psutil.
            same = abs(found.create_time() - self.started) < 1.5
            return found if same and found.status() != psutil.STATUS_ZOMBIE else None
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            return None


class ContainerProvider(BaseModel):
    """Where containers are deployed, and why there; `socket` is the engine's if it is Docker."""

    model_config = ConfigDict(frozen=True)
    name: Literal["docker", "ecs"]
    why: str
    socket: Path | None = None


class Service(BaseModel):
    """One server: where it answers, its process, and the leash that ends it with its owner."""

    model_config = ConfigDict(frozen=True)
    name: str
    port: int
    process: Identity
    leash: Identity
    end: str
    log: Path

    @property
    def address(self) -> str:
        """Host and port, as in `127.0.0.1:5432`."""
        return f"{ports.LOOPBACK}:{self.port}"


class Description(BaseModel):
    """Everything a client needs to use stand-ins that another process started."""

    model_config = ConfigDict(frozen=True)
    directory: Path
    owner: Identity
    ready: bool
    ui_port: int
    temporal: str
    password: str
    containers: ContainerProvider
    services: dict[str, Service]
    notes: tuple[str, ...] = ()

    @property
    def web_ui(self) -> str:
        """The address of Temporal's Web UI."""
        return f"http://{ports.LOOPBACK}:{self.ui_port}"

    def dead(self) -> list[str]:
        """The names of the servers whose process is gone."""
        return [name for name, service in self.services.items() if service.process.process() is None]

    def write(self) -> None:
        """Replaces the file in one step, readable by its owner only: others see the old or the new one."""
        with tempfile.NamedTemporaryFile("w", dir=self.directory, prefix=FILE, delete=False) as new:
            new.write(self.model_dump_json(indent=2) + "\n")
        Path(new.name).replace(self.directory / FILE)


def recorded(directory: Path) -> Description | None:
    """What was written last, running or not; None if there is nothing readable."""
    try:
        return Description.model_validate_json((directory / FILE).read_text())
    except (OSError, ValidationError):
        return None


def running(directory: Path | str) -> Description | None:
    """The stand-ins of this folder if they are up: all processes live and every port answers."""
    found = recorded(Path(os.path.realpath(directory)))
    if found is None or not found.ready or found.owner.process() is None or found.dead():
        return None
    listening = [service.port for service in found.services.values()] + [found.ui_port]
    return found if all(map(ports.answers, listening)) else None
