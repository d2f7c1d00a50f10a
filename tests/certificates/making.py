"""Makes the certificates, a few at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from activities.catalogue import CATALOGUE
from rescind.testing import Certificate, check_tool
from tests.certificates.cases import Case, Outside, cases, engine_case, outside_of, settings_of

FOLDER = Path(__file__).parents[2] / "docs" / "certificates"
AT_A_TIME = 3
"""Checks at a time; most of one is waiting for its provider."""


async def make(environment: Mapping[str, str]) -> list[Certificate]:
    """Check every tool of the catalogue, in every case; what needs a Docker engine only where there is one.

    Args:
        environment: That of a worker which uses the stand-ins.
    """
    with TemporaryDirectory(prefix="rescind-certificates-") as name, engine_case(environment) as with_engine:
        async with outside_of(environment, Path(name)) as outside:
            slowest_first = [*([with_engine] if with_engine else []), *cases(outside)]
            return await _all(slowest_first, outside)


async def _all(chosen: list[Case], outside: Outside) -> list[Certificate]:
    limit = asyncio.Semaphore(AT_A_TIME)

    async def certified(case: Case) -> Certificate:
        async with limit:
            tool = CATALOGUE[case.tool]
            return await check_tool(tool, case.request, case.world, ledger=outside.ledger, case=case.case)

    with pytest.MonkeyPatch.context() as worker:
        for name, value in settings_of(outside).items():
            worker.setenv(name, value)
        return list(await asyncio.gather(*map(certified, chosen)))
