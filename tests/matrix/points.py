"""The providers of one worker with their faults, and the point at which each cell meets its trouble."""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from tests.faults import Fault, FaultyProvider, Seen
from tests.faults.git import GitFaults
from tests.faults.http_proxy import Dialect, HttpFaults
from tests.faults.postgres import PostgresFaults
from tests.faults.providers import CHAT, DOCKER, ECS, S3
from tests.matrix.cells import FAULTS, LATE_SECONDS, Cell, Step
from tests.matrix.places import Places

_S3 = {
    "create bucket": r"^PUT /{name}/?$",
    "tag bucket": r"^PUT /{name}/?\?tagging",
    "delete bucket": r"^DELETE /{name}/?$",
}
_ECS = {
    "register": r'\.RegisterTaskDefinition .*"{name}"',
    "create service": r'\.CreateService .*"{name}"',
}
_DOCKER = {"create": r"^POST \S*/containers/create\?(.*&)?name={name}-"}


@dataclass(frozen=True)
class Point:
    """One operation of one provider, as one cell meets it."""

    provider: FaultyProvider
    operation: str

    def calls(self) -> list[Seen]:
        """What the provider has seen of it."""
        return [seen for seen in self.provider.calls() if seen.operation == self.operation]

    async def reached(self, within: float = 90.0) -> None:
        """Returns when the first call that meets a gate stands there."""
        try:
            async with asyncio.timeout(within):
                while not any(_stands(seen) for seen in self.calls()):  # noqa: ASYNC110 - the log has no event
                    await asyncio.sleep(0.02)
                await self.provider.held(within)
        except TimeoutError:
            raise TimeoutError(
                f"{self.operation}: no call at the gate within {within:g} s; {self.calls()}"
            ) from None

    def why_not_standing(self) -> str:
        """Empty if a call stands at the gate at this moment."""
        if any(_stands(seen) and seen.under_way for seen in self.calls()):
            return ""
        return (
            f"{self.operation}: no call stood at the gate any more when its worker was struck; {self.calls()}"
        )

    async def quiet(self, within: float = 60.0) -> None:
        """Returns when no call can change anything any more."""
        async with asyncio.timeout(within):
            while any(seen.under_way for seen in self.calls()):  # noqa: ASYNC110 - the same
                await asyncio.sleep(0.05)


def _stands(seen: Seen) -> bool:
    if seen.fault is None or not seen.fault.gated:
        return False
    return seen.acted or seen.fault is not Fault.HANG_AFTER


@asynccontextmanager
async def points_of(
    cells: Sequence[Cell], places: Places
) -> AsyncGenerator[tuple[dict[str, str], dict[str, Point]]]:
    """A worker's environment through faulty providers, and the planned point of each cell by its name."""
    async with AsyncExitStack() as stack:
        rooms = _Rooms(places, stack)
        await rooms.open(cells)
        for cell in cells:
            point = rooms.points[cell.name]
            point.provider.late = LATE_SECONDS
            await point.provider.plan(point.operation, FAULTS[cell.trouble])
        yield rooms.environment, rooms.points


class _Rooms:
    """Opens what the cells need: one faulty AWS and engine for all of them, the rest for each."""

    def __init__(self, places: Places, stack: AsyncExitStack) -> None:
        self._places = places
        self._stack = stack
        self.points: dict[str, Point] = {}
        self.environment: dict[str, str] = {}

    async def open(self, cells: Sequence[Cell]) -> None:
        """Open all of it."""
        self.environment = self._places.stack | self._places.aliases(cells)
        await self._shared(cells, Step.BUCKET, "create bucket", (S3, _S3), "RESCIND_S3_ENDPOINT")
        await self._shared(cells, Step.SERVICE, "create service", (ECS, _ECS), "RESCIND_ECS_ENDPOINT")
        await self._engine(cells)
        for cell in cells:
            match cell.step:
                case Step.BRANCH:
                    git = await self._stack.enter_async_context(
                        GitFaults(self._places.repositories[cell.name])
                    )
                    self._point(cell, git, "create")
                    self._alias("RESCIND_GIT_REMOTES", cell, git.url)
                case Step.SCHEMA:
                    await self._database(cell)
                case Step.NOTIFICATION:
                    chat = await self._chat(cell)
                    self._point(cell, chat, "post")
                case _:
                    pass
            if cell.doomed:
                chat = await self._chat(cell)
                await chat.plan("post", [Fault.REFUSE])

    async def _shared(
        self,
        cells: Sequence[Cell],
        step: Step,
        first: str,
        dialect: tuple[Dialect, dict[str, str]],
        variable: str,
    ) -> None:
        """One proxy before a provider whose address all cells share; its operations are told by their names."""
        plain, patterns = dialect
        here = [cell for cell in cells if cell.step is step]
        named = {
            f"{operation} {cell.name}": pattern.replace("{name}", cell.name)
            for operation, pattern in patterns.items()
            for cell in here
        }
        own = Dialect(named, plain.refused, plain.unavailable, plain.broken)
        proxy = await self._stack.enter_async_context(HttpFaults(self._places.stack[variable], own))
        self.environment[variable] = proxy.url
        for cell in here:
            self._point(cell, proxy, f"{cell.operation or first} {cell.name}")

    async def _engine(self, cells: Sequence[Cell]) -> None:
        here = [cell for cell in cells if cell.deployment is Step.CONTAINER]
        if not here or not self._places.engine:
            return
        named = {f"create {cell.name}": _DOCKER["create"].replace("{name}", cell.name) for cell in here} | {
            "start": DOCKER.operations["start"]
        }
        own = Dialect(named, DOCKER.refused, DOCKER.unavailable, DOCKER.broken)
        upstream = f"unix://{self._places.engine}"
        proxy = await self._stack.enter_async_context(HttpFaults(upstream, own))
        self.environment["RESCIND_DOCKER_HOST"] = proxy.url.replace("http:", "tcp:")
        for cell in here:
            if cell.step is Step.CONTAINER:
                self._point(cell, proxy, cell.operation or f"create {cell.name}")
            else:
                self._point(cell, proxy, f"create {cell.name}")

    async def _database(self, cell: Cell) -> None:
        name = cell.name
        operations = {"migrate": rf'create\s+table\s+"{name}"'}
        faults = PostgresFaults(self._places.owners[name], operations)
        await self._stack.enter_async_context(faults)
        self._point(cell, faults, "migrate")
        self._alias("RESCIND_DATABASES", cell, faults.through(self._places.databases[name]))

    async def _chat(self, cell: Cell) -> HttpFaults:
        server, _, hook = self._places.hooks[cell.name].partition("/hook/")
        chat = await self._stack.enter_async_context(HttpFaults(server, CHAT))
        self._alias("RESCIND_CHAT_WEBHOOKS", cell, f"{chat.url}/hook/{hook}")
        return chat

    def _point(self, cell: Cell, provider: FaultyProvider, operation: str) -> None:
        self.points[cell.name] = Point(provider, operation)

    def _alias(self, variable: str, cell: Cell, address: str) -> None:
        named = json.loads(self.environment[variable])
        self.environment[variable] = json.dumps(named | {cell.name: address})
