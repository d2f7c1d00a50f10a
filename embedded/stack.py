"""Starts all stand-ins of one folder together, and stops what it started."""

import fcntl
import os
import secrets
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from embedded import git, ports, postgres, temporal
from embedded.engine import choose_provider
from embedded.environment import isolated
from embedded.errors import AlreadyRunningError, StandInError, StandInFailedError
from embedded.http import ask
from embedded.processes import Leashed, Program, end_all, launch
from embedded.state import FILE, Description, Identity, recorded

PORTS = ("temporal", "temporal-http", "ui", "postgres", "aws", "sandbox", "mail", "stripe")
UI_PORT = 8233
STARTS = 3  # of a server that ended: another program may have had one of the ports that it picks for itself
SANDBOX_DSN = "RESCIND_SANDBOX_DSN"  # read by `python -m embedded sandbox`


class Stack:
    """The stand-ins of one folder, which live as long as this process, however it ends.

    A second one for the same folder raises `AlreadyRunningError`. What a killed one left behind is ended
    first. The data stays in the folder and is used again. When a port is taken another one is used, and
    `description.notes` says so.
    """

    def __init__(self, directory: Path | str = ".rescind", *, ui_port: int | None = None) -> None:
        self.directory = Path(os.path.realpath(directory))
        self.ui_port = ui_port
        self._found: Description | None = None
        self._leashed: list[Leashed] = []
        self._lock: IO[str] | None = None
        self._writing = threading.Lock()
        self._given_up = threading.Event()

    @property
    def description(self) -> Description:
        """What runs where; raises `StandInError` before `start` and after `stop`."""
        if self._found is None:
            raise StandInError("The stand-ins are not started. Call start() or use the `with` statement.")
        return self._found

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> Description:
        """Returns once every server answers; on a failure all is stopped again, and the data is kept."""
        self._given_up.clear()
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            self._take_lock()
        except PermissionError as error:
            raise StandInError(
                f"{self.directory} belongs to another user: {error}. Nothing was started. Use another folder, or "
                "start as the user who owns it."
            ) from error
        try:
            left = recorded(self.directory)
            notes = left_over_note(end_all(left.services.values())) if left else []
            self._start_all(notes)
        except BaseException:
            self.stop()
            raise
        return self.description

    def stop(self) -> None:
        """Returns once every server that this stack started is gone; the data stays."""
        for leashed in self._leashed:
            leashed.let_go()
        for leashed in self._leashed:
            leashed.wait_until_gone()
        self._leashed = []
        self._found = None
        if self._lock is not None:
            (self.directory / FILE).unlink(missing_ok=True)
            self._lock.close()
            self._lock = None

    def _take_lock(self) -> None:
        """Holds the folder's lock until `stop`; the kernel drops it when this process is killed."""
        lock = (self.directory / "lock").open("a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            holder = lock.read().strip()
            lock.close()
            found = recorded(self.directory)
            web_ui = found.web_ui if found and found.ready else None
            raise AlreadyRunningError(
                self.directory, int(holder) if holder.isdigit() else None, web_ui
            ) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        self._lock = lock

    def _start_all(self, notes: list[str]) -> None:
        environment = isolated(os.environ, self.directory)
        for folder in ("log", "files/app"):
            (self.directory / folder).mkdir(parents=True, exist_ok=True)
        program = temporal.find_program(environment)
        chosen = self._choose_ports(notes)
        if program.note:
            notes.append(program.note)
        self._found = Description(
            directory=self.directory,
            owner=Identity.of(os.getpid()),
            ready=False,
            ui_port=chosen["ui"],
            temporal=program.version,
            password=password(self.directory),
            containers=choose_provider(environment),
            services={},
            notes=tuple(notes),
        )
        builders: list[Callable[[], Program]] = [
            lambda: self._postgres(chosen["postgres"], environment),
            lambda: own_program(
                *("aws", chosen["aws"], http_probe("/moto-api/config"), environment),
                *("--data", str(self.directory / "aws.jsonl")),
            ),
            lambda: temporal.program(self.directory, program, chosen, environment),
            lambda: self._providers(chosen, environment),
        ]
        with ThreadPoolExecutor(len(builders) + 1) as pool:
            repository = pool.submit(git.create, self.directory, environment)
            starting = [pool.submit(self._bring_up, build) for build in builders]
            try:
                for one in starting:
                    one.result()
                repository.result()
            except BaseException:
                self._given_up.set()
                raise
        self._found = self.description.model_copy(update={"ready": True})
        self._found.write()

    def _choose_ports(self, notes: list[str]) -> dict[str, int]:
        if self.ui_port and not ports.is_free(self.ui_port):
            raise StandInError(
                f"Port {self.ui_port}, asked for the Web UI, is taken by {ports.holder(self.ui_port)}. Nothing was "
                "started. End that program, or ask for another port; 0 takes any free one."
            )
        wanted = UI_PORT if self.ui_port is None else self.ui_port
        chosen = ports.choose(PORTS, self.directory / "ports.json", {"ui": wanted})
        if wanted and chosen["ui"] != wanted:
            notes.append(
                f"Port {wanted} is taken by {ports.holder(wanted)}, so the Web UI is on {chosen['ui']}."
            )
        return chosen

    def _providers(self, port: dict[str, int], environment: dict[str, str]) -> Program:
        """The sandbox, the mail server and Stripe's stand-in in one process, since all import much the same."""
        also = {name: port[name] for name in ("mail", "stripe")}

        def ready(sandbox: int) -> bool:
            return http_probe("/health")(sandbox) and all(map(ports.answers, also.values()))

        dsn = postgres.dsn(port["postgres"], postgres.SANDBOX_LOGIN, self.description.password, "sandbox")
        options = [word for name, number in also.items() for word in (f"--{name}-port", str(number))]
        shared = environment | {SANDBOX_DSN: dsn}
        return replace(own_program("sandbox", port["sandbox"], ready, shared, *options), also=also)

    def _postgres(self, port: int, environment: dict[str, str]) -> Program:
        secret = self.description.password
        postgres.create(self.directory, secret, environment)
        return postgres.program(self.directory, port, secret, environment)

    def _bring_up(self, build: Callable[[], Program]) -> None:
        try:
            self._launch_and_wait(build())
        except BaseException:
            self._given_up.set()
            raise

    def _launch_and_wait(self, program: Program) -> None:
        for tries_left in reversed(range(STARTS)):
            try:
                self._launch_once(program)
            except StandInFailedError as failed:
                if not (failed.ended and tries_left) or self._given_up.is_set():
                    raise
            else:
                return

    def _launch_once(self, program: Program) -> None:
        leashed = launch(program, self.directory / "log" / f"{program.name}.log")
        with self._writing:
            self._leashed.append(leashed)
            services = {**self.description.services, **leashed.services()}
            self._found = self.description.model_copy(update={"services": services})
            self._found.write()
        leashed.wait_until_ready(self._given_up)


def own_program(
    name: str, port: int, ready: Callable[[int], bool], environment: dict[str, str], *options: str
) -> Program:
    """One of the servers that `python -m embedded` has; `ready` is asked with its port."""
    command = [
        sys.executable,
        "-m",
        "embedded",
        name,
        "--host",
        ports.LOOPBACK,
        "--port",
        str(port),
        *options,
    ]
    paths = {"PYTHONPATH": str(Path(__file__).parents[1])}
    return Program(name, command, port, lambda: ready(port), environment | paths)


def http_probe(path: str) -> Callable[[int], bool]:
    """True once this path answers with JSON, and no error."""
    return lambda port: ask(f"http://{ports.LOOPBACK}:{port}{path}") is not None


def left_over_note(names: list[str]) -> list[str]:
    """A line for people about what a killed run had left running."""
    return [f"Ended what an earlier run had left: {', '.join(names)}."] if names else []


def password(directory: Path) -> str:
    """The databases' password, made at the first start and kept in a file that only its owner reads."""
    file = directory / "password"
    if not file.exists():
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as new:
            new.write(secrets.token_hex(16))
    return file.read_text()
