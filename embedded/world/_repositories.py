"""Refs of git remotes, read with git, and the chat's messages, read over HTTP."""

import json
import shutil
import subprocess
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

from embedded.errors import StandInError
from embedded.http import ask


class Message(BaseModel):
    """One message that the chat was sent."""

    model_config = ConfigDict(frozen=True)
    hook: str
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """What a person reads."""
        return str(self.body.get("text", self.body))


def references(remote: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Every ref of the remote with its object id, and HEAD with the name that it stands for."""
    program = shutil.which("git", path=environment.get("PATH"))
    if program is None:
        raise StandInError("git is missing, so the repository cannot be read. Install git.")
    command = [program, "ls-remote", "--symref", remote]
    done = subprocess.run(  # noqa: S603 - git, found above
        command, env=dict(environment), capture_output=True, text=True, timeout=60, check=False
    )
    if done.returncode:
        raise StandInError(f"git cannot read {remote}; nothing was changed. It said: {done.stderr.strip()}")
    found: dict[str, str] = {}
    for line in done.stdout.splitlines():
        target, _, name = line.partition("\t")
        if target.startswith("ref: ") or name != "HEAD":
            found[name] = target
    return found


def messages(environment: Mapping[str, str]) -> list[Message]:
    """Every message of every hook's server, oldest first; raises `StandInError` if one does not answer."""
    hooks: dict[str, str] = json.loads(environment["RESCIND_CHAT_WEBHOOKS"])
    servers = sorted({address.rpartition("/hook/")[0] for address in hooks.values()})
    found: list[Message] = []
    for server in servers:
        kept = ask(f"{server}/messages")
        if kept is None:
            raise StandInError(f"The chat at {server} does not list its messages. Is it the stand-in?")
        found += [Message(hook=one["hook"], body=one["body"]) for one in kept]
    return found
