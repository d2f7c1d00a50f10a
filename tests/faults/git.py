"""A git remote that fails on chosen pushes and reads: a git:// server before a bare repository, and its hooks."""

import asyncio
import itertools
import os
import shutil
import signal
import tempfile
from pathlib import Path
from typing import Self

from tests.faults.git_connection import GitConnection, said_to_read
from tests.faults.script import Script

_HOOK = Path(__file__).with_name("git_hook.sh")
_HOOKS = ("pre-receive", "reference-transaction")
# A keepalive would end a push whose client has gone; housekeeping would outlive the push.
_SETTINGS = ("-c", "receive.keepAlive=0", "-c", "receive.autoGC=false", "-c", "maintenance.auto=false")
_ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
}


class GitFaults(Script):
    """A FaultyProvider before a bare repository, for pushes and reads through its own `url`.

    A push that deletes a ref is a "delete", else one that creates a ref is a "create", else an "update"; a read of
    refs or of objects is a "fetch", which meets its fault in the server's first words and never acts.
    Used as an async context manager. The hooks hold for these pushes only and stand in for the repository's
    own; the repository itself is not touched. The server's processes are not in the client's process group.
    """

    def __init__(self, repository: Path) -> None:
        super().__init__(("create", "delete", "update", "fetch"))
        self._repository = repository.resolve()
        self._box = Path(tempfile.mkdtemp(prefix="git-faults-"))
        self._numbers = itertools.count(1)
        self._connections: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """The remote for clients; git://127.0.0.1:port/name."""
        if not self._server:
            raise RuntimeError("the git server is not started: use `async with`")
        return f"git://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/{self._repository.name}"

    async def __aenter__(self) -> Self:
        hooks = self._box / "hooks"
        hooks.mkdir()
        for hook in _HOOKS:
            shutil.copy(_HOOK, hooks / hook)
            (hooks / hook).chmod(0o755)
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self.clear()
        finally:
            if self._server:
                self._server.close()
            for connection in self._connections:
                connection.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)
            shutil.rmtree(self._box)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await reader.readexactly(int(await reader.readexactly(4), 16) - 4)
            service = request.split(b" ", 1)[0].removeprefix(b"git-").decode()
            if service == "upload-pack" and not await self._may_read(request, reader, writer):
                return
            if service in {"upload-pack", "receive-pack"}:
                await self._pack(service, reader, writer)
        except (OSError, asyncio.IncompleteReadError, ValueError):
            pass  # the client went, or spoke no git: there is nobody to answer
        finally:
            writer.transport.abort()

    async def _may_read(
        self, request: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Meets the fault that is planned for this fetch; false if it is not to be served."""
        seen = await self.arrive("fetch", request.split(b"\0", 1)[0].decode())
        try:
            # Before the server has spoken a client says nothing more, so that a read ends only when it has gone.
            if seen.fault and seen.fault.gated:
                return await self.stand(lambda: reader.read(1))
            writer.write(said_to_read(seen.fault))
            await writer.drain()
            return seen.fault is None
        finally:
            await self.leave(seen)

    async def _pack(self, service: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        call = self._box / str(next(self._numbers))
        process = await asyncio.create_subprocess_exec(
            *("git", "-c", f"core.hooksPath={self._box / 'hooks'}", *_SETTINGS, service, self._repository),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=_ENVIRONMENT | {"RESCIND_FAULT_CALL": call.name, "RESCIND_FAULT_BOX": str(self._box)},
            start_new_session=True,
        )
        try:
            await GitConnection(self, call, process, reader, writer).run()
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
