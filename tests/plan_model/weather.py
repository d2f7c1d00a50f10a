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
        operations = {
            f"{side} {each.token}": _pattern(met, each) for side, met, each in _met(tries, "postgres")
        }
        database = await room.enter_async_context(PostgresFaults(places.owner, operations))
        await _plan(database, tries, "postgres")
        direct = json.loads(environment["RESCIND_DATABASES"])[DATABASE]
        environment["RESCIND_DATABASES"] = json.dumps({DATABASE: database.through(direct)})
        remotes = json.loads(environment["RESCIND_GIT_REMOTES"])
        for each in tries:
            if each.tool == "git.create_branch" and each.troubles:
                git = await room.enter_async_context(GitFaults(places.repositories[each.token]))
                for trouble in each.troubles:
                    await git.plan("create" if trouble.side == "do" else "delete", _faults(trouble))
                remotes[each.token] = git.url
                made.append(git)
        environment["RESCIND_GIT_REMOTES"] = json.dumps(remotes)
        yield environment, [*made, database]


async def _http(
    room: AsyncExitStack, name: str, tries: Sequence[Try], environment: dict[str, str]
) -> HttpFaults:
    plain = DIALECTS[name]
    operations = {f"{side} {each.token}": _pattern(met, each) for side, met, each in _met(tries, name)}
    dialect = Dialect(operations, plain.refused, plain.unavailable, plain.broken)
    is_docker = name == "docker"
    upstream = f"unix://{environment['RESCIND_DOCKER_SOCKET']}" if is_docker else environment[VARIABLES[name]]
    proxy = await room.enter_async_context(HttpFaults(upstream, dialect))
    await _plan(proxy, tries, name)
    if is_docker:
        environment["RESCIND_DOCKER_HOST"] = proxy.url.replace("http:", "tcp:")
    else:
        environment[VARIABLES[name]] = proxy.url
    return proxy


def _met(tries: Sequence[Try], provider: str) -> list[tuple[str, Met, Try]]:
    """Where tries meet their troubles at this provider."""
    sides = (("do", "do"), ("undo", "undo"))
    found = [
        (side, getattr(each.kind, name), each) for each in tries for side, name in sides if each.troubles
    ]
    return [
        (side, met, each)
        for side, met, each in found
        if met and met.provider == provider and any(trouble.side == side for trouble in each.troubles)
    ]


def _pattern(met: Met, each: Try) -> str:
    return met.operation.replace("{t}", each.token)


async def _plan(provider: FaultyProvider, tries: Sequence[Try], name: str) -> None:
    for side, _, each in _met(tries, name):
        for trouble in each.troubles:
            if trouble.side == side:
                await provider.plan(f"{side} {each.token}", _faults(trouble))


def _faults(trouble: Trouble) -> list[Fault]:
    return [Fault(trouble.fault)] * (trouble.times or LASTING)


async def break_out(sandbox: Sandbox, steps: Sequence[Step], saga: str) -> None:
    """From now on the sandbox misbehaves at the calls of this plan's steps."""
    for step in steps:
        for number, each in enumerate(step.tries, 1):
            key = effect_key(saga, step.id, number)
            words = {"{t}": each.token, "{key}": provider_key(key), "{undo}": provider_undo_key(key)}
            for trouble in each.troubles:
                met = each.kind.do if trouble.side == "do" else each.kind.undo
                if met and met.provider == "sandbox":
                    await _misbehave(sandbox, met, trouble, words)


async def _misbehave(sandbox: Sandbox, met: Met, trouble: Trouble, words: Mapping[str, str]) -> None:
    told = {"contains": words.get(met.mark, met.mark.replace("{t}", words["{t}"]))} if met.mark else {}
    lasting = trouble.times if told else trouble.times or 1  # of calls of all plans, not so many
    await sandbox.misbehave(met.operation, trouble.fault, calls=lasting, seconds=1, **told)
