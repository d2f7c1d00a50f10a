"""Lets the providers of a run misbehave at the calls that the plans say."""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from rescind._keys import effect_key, provider_key, provider_undo_key
from tests.activities.sandbox_world import Sandbox
from tests.faults import Fault, FaultyProvider
from tests.faults.git import GitFaults
from tests.faults.http_proxy import Dialect, HttpFaults
from tests.faults.postgres import PostgresFaults
from tests.faults.providers import DOCKER, EC2, ECS, S3
from tests.plan_model.drawn import Step, Trouble, Try
from tests.plan_model.kinds import Met
from tests.plan_model.places import Places
from tests.plan_model.requests import DATABASE

LASTING = 100
"""As many calls in a row as no try makes."""

DIALECTS = {"s3": S3, "ecs": ECS, "ec2": EC2, "docker": DOCKER}
VARIABLES = {"s3": "RESCIND_S3_ENDPOINT", "ecs": "RESCIND_ECS_ENDPOINT", "ec2": "RESCIND_EC2_ENDPOINT"}


@asynccontextmanager
async def proxies(
    tries: Sequence[Try], places: Places
) -> AsyncGenerator[tuple[dict[str, str], list[FaultyProvider]]]:
    """The environment of a worker whose git, AWS, Docker and database misbehave, and what makes them."""
    environment = dict(places.environment)
    async with AsyncExitStack() as room:
        made: list[FaultyProvider] = [
            await _http(room, name, tries, environment)
            for name in DIALECTS
            if name != "docker" or "RESCIND_DOCKER_SOCKET" in environment
        ]
        made.append(await _postgres(room, tries, places, environment))
        made += await _git(room, tries, places, environment)
        yield environment, made


async def _http(
    room: AsyncExitStack, name: str, tries: Sequence[Try], environment: dict[str, str]
) -> HttpFaults:
    plain, is_docker = DIALECTS[name], name == "docker"
    dialect = Dialect(_operations(tries, name), plain.refused, plain.unavailable, plain.broken)
    upstream = f"unix://{environment['RESCIND_DOCKER_SOCKET']}" if is_docker else environment[VARIABLES[name]]
    proxy = await room.enter_async_context(HttpFaults(upstream, dialect))
    await _plan(proxy, tries, name)
    if is_docker:
        environment["RESCIND_DOCKER_HOST"] = proxy.url.replace("http:", "tcp:")
    else:
        environment[VARIABLES[name]] = proxy.url
    return proxy


async def _postgres(
    room: AsyncExitStack, tries: Sequence[Try], places: Places, environment: dict[str, str]
) -> PostgresFaults:
    proxy = await room.enter_async_context(PostgresFaults(places.owner, _operations(tries, "postgres")))
    await _plan(proxy, tries, "postgres")
    direct = json.loads(environment["RESCIND_DATABASES"])[DATABASE]
    environment["RESCIND_DATABASES"] = json.dumps({DATABASE: proxy.through(direct)})
    return proxy


async def _git(
    room: AsyncExitStack, tries: Sequence[Try], places: Places, environment: dict[str, str]
) -> list[GitFaults]:
    """One remote for each try that meets a fault; the others are asked as they are."""
    remotes, made = json.loads(environment["RESCIND_GIT_REMOTES"]), list[GitFaults]()
    for each in tries:
        if troubles := list(each.met("git")):
            git = await room.enter_async_context(GitFaults(places.repositories[each.token]))
            for trouble, met in troubles:
                await git.plan(met.operation, _faults(trouble))
            remotes[each.token] = git.url
            made.append(git)
    environment["RESCIND_GIT_REMOTES"] = json.dumps(remotes)
    return made


def _operations(tries: Sequence[Try], provider: str) -> dict[str, str]:
    """The operations of a proxy: one for each side of a try that meets a fault."""
    return {
        f"{trouble.side} {each.token}": met.operation.replace("{t}", each.token)
        for each in tries
        for trouble, met in each.met(provider)
    }


async def _plan(proxy: FaultyProvider, tries: Sequence[Try], provider: str) -> None:
    for each in tries:
        for trouble, _ in each.met(provider):
            await proxy.plan(f"{trouble.side} {each.token}", _faults(trouble))


def _faults(trouble: Trouble) -> list[Fault]:
    return [Fault(trouble.fault)] * (trouble.times or LASTING)


async def break_out(sandbox: Sandbox, steps: Sequence[Step], saga: str) -> None:
    """From now on the sandbox misbehaves at the calls of this plan's steps."""
    for step in steps:
        for number, each in enumerate(step.tries, 1):
            key = effect_key(saga, step.id, number)
            words = {"{t}": each.token, "{key}": provider_key(key), "{undo}": provider_undo_key(key)}
            for trouble, met in each.met("sandbox"):
                await _misbehave(sandbox, met, trouble, words)


async def _misbehave(sandbox: Sandbox, met: Met, trouble: Trouble, words: Mapping[str, str]) -> None:
    told = {"contains": words.get(met.mark, met.mark.replace("{t}", words["{t}"]))} if met.mark else {}
    lasting = trouble.times if told else trouble.times or 1  # of calls of all plans, not so many
    await sandbox.misbehave(met.operation, trouble.fault, calls=lasting, seconds=1, **told)
