"""Runs git independently of its user's configuration, for a limited time, leaving no process behind."""

import functools
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rescind.evidence import Refused

_LEASH = Path(__file__).with_name("_leash.py")
_BACKSTOP = 3.0
"""Seconds after which a leash that did not end by itself is killed."""

_KEPT = frozenset(
    {"GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_ASKPASS", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH"}
)
"""What a real remote may need of git's environment: how to reach it, and who vouches for it.

Beside these, ssh has its own files and agent, curl ~/.netrc and the proxies' variables, as always.
"""

_OLDEST = (2, 32)
"""The first git that can be told to read no configuration of its user (GIT_CONFIG_GLOBAL)."""

_PASSWORD = re.compile(r"(?<=://)[^/@\s]+(?=@)")


class GitFailed(Exception):
    """Git ended with an error, or was ended because its time was up.

    Args:
        command: The git command.
        code: Its exit code; negative when it was ended by a signal.
        output: Its standard output.
        said: What it wrote to standard error, without addresses and passwords.
    """

    def __init__(self, command: str, code: int, output: str, said: str) -> None:
        how = "was ended because its time was up" if code < 0 else f"failed with exit code {code}"
        super().__init__(f"git {command} {how}: {said or 'it said nothing'}")
        self.code = code
        self.output = output
        self.said = said


@dataclass(frozen=True, slots=True)
class GitProcess:
    """How git is run for one repository and one remote, called `origin`.

    Attributes:
        directory: The bare repository; it need not exist for commands that only ask the remote.
        url: The remote's URL or path.
        alias: The name under which error messages speak of it.
    """

    directory: Path
    url: str
    alias: str

    def run(self, *words: str, seconds: float) -> str:
        """What git says on standard output.

        Args:
            words: The command and its arguments.
            seconds: After these, and when this process dies, git and all its children are ended.

        Raises:
            GitFailed: Git ended with an error, or was ended.
            Refused: There is no git, or it is too old.
        """
        command = [sys.executable, "-I", "-S", str(_LEASH), f"{seconds:.3f}", _program(), *words]
        held, lifeline = os.pipe()
        try:
            process = subprocess.Popen(  # noqa: S603  (git, with words that the tool has validated)
                command,
                stdin=held,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                env=self._environment(),
                text=True,
                errors="replace",
            )
            os.close(held)
            output, said = _ended(process, seconds + _BACKSTOP)
        finally:
            os.close(lifeline)
        if process.returncode:
            raise GitFailed(words[0], process.returncode, output, self._without_address(said))
        return output

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if _is_harmless(name)}
        settings = {"remote.origin.url": self.url, "maintenance.auto": "false", "gc.auto": "0"}
        ssh = (
            {} if kept.keys() & {"GIT_SSH", "GIT_SSH_COMMAND"} else {"GIT_SSH_COMMAND": "ssh -oBatchMode=yes"}
        )
        return (
            kept
            | ssh
            | {
                "GIT_DIR": str(self.directory),
                "GIT_CONFIG_GLOBAL": os.devnull,
                "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_TERMINAL_PROMPT": "0",
                "LC_ALL": "C",
            }
            | _as_variables(settings)
        )

    def _without_address(self, said: str) -> str:
        named = said.replace(self.url, self.alias)
        return "; ".join(line.strip() for line in _PASSWORD.sub("***", named).splitlines() if line.strip())


def _is_harmless(name: str) -> bool:
    return name in _KEPT or not name.startswith(("GIT_", "SSH_ASKPASS", "LC_", "LANG"))


def _as_variables(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings for this git alone: git takes them away from the servers and hooks that it starts."""
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return variables


def _ended(process: subprocess.Popen[str], seconds: float) -> tuple[str, str]:
    try:
        return process.communicate(timeout=seconds)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise


def _program() -> str:
    return _checked(shutil.which("git"))


@functools.cache
def _checked(program: str | None) -> str:
    """The program if it is usable; the answer of one that is there is remembered."""
    if program is None:
        raise Refused("git is not installed on this worker. Nothing was sent. Install git 2.32 or newer")
    told = subprocess.run([program, "version"], capture_output=True, text=True, check=True)  # noqa: S603  (found above)
    version = re.search(r"(\d+)\.(\d+)", told.stdout)
    if version is None or tuple(map(int, version.groups())) < _OLDEST:
        raise Refused(
            f"this worker has {told.stdout.strip()}, which would read its user's configuration. Nothing was "
            "sent. Install git 2.32 or newer"
        )
    return program
