"""The check itself: every law on real wrappers, a real ledger and a real PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack

from temporalio.exceptions import ApplicationError

from rescind._calls import Req, Request, Res
from rescind._catalogue import AnyTool, Catalogue
from rescind._tool import Tool
from rescind.ledger import install
from rescind.testing import _do_laws, _undo_laws
from rescind.testing._certificate import Certificate, CertifiedGrade
from rescind.testing._laws import Broken, Law, LawOutcome, NotApplicable, Verdict
from rescind.testing._postgres import own_database
from rescind.testing._stopping import stopping_bench
from rescind.testing._trial import Trial
from rescind.testing._world import Resettable, World, described

_Check = Callable[[Trial], Awaitable[str]]

_CHECKS: dict[Law, _Check] = {
    Law.RESTORED: _undo_laws.restored,  # first, since the others go by the grade that it verifies
    Law.FOUND: _do_laws.found,
    Law.ONE_EFFECT: _do_laws.one_effect,
    Law.UNDONE_TWICE: _undo_laws.undone_twice,
    Law.NOTHING_TO_UNDO: _undo_laws.nothing_to_undo,
    Law.LATE_CALL: _undo_laws.late_call,
    Law.CONFLICT: _undo_laws.conflict,
    Law.NO_OP: _undo_laws.no_op,
    Law.CRASH_BEFORE: _do_laws.crash_before,
    Law.CRASH_AFTER: _do_laws.crash_after,
    Law.READ_ONLY: _do_laws.read_only,
}


async def check_tool(
    tool: Tool[Req, Res],
    request: Req | Callable[[], Req],
    world: World,
    *,
    ledger: str | None = None,
    case: str = "",
) -> Certificate:
    """Try every law on a tool, in the way in which a worker runs it, and say what became of each.

    The tool is called some twenty times, each time with another key. The world stays yours: open it before and close
    it after. After a check that is cancelled or fails, what the tool has made stands in it.

    Args:
        tool: The tool.
        request: A request that takes effect in this world, and whose undo can be seen there; or a function
            that makes one, called for each call, where the world is put back to another beginning each time.
        world: The world that the tool writes to. With `reset` no law sees what another has left.
        ledger: An administrator's connection string of a PostgreSQL database that is there for tests; the ledger
            is installed in it. None starts a PostgreSQL server for this check.
        case: In which case it is checked, for tools that have several.

    Returns:
        The certificate; `require()` raises when a law is broken.

    Raises:
        NoTestLedger: No PostgreSQL could be started, or the role may not administer the ledger. Nothing was called.
        rescind.ledger.LedgerError: The ledger's database does not answer.
    """
    with ExitStack() as owned:
        dsn = ledger if ledger else await asyncio.to_thread(owned.enter_context, own_database())
        await asyncio.to_thread(install, dsn)
        bench = stopping_bench(Catalogue([tool]), dsn)
        async with bench.opened("rescind-testing"):
            trial = Trial(tool, bench, world, _maker(request))
            laws = [await _outcome(law, trial) for law in _CHECKS]
    return _certificate(trial, laws, case)


async def _outcome(law: Law, trial: Trial) -> LawOutcome:
    if trial.tool.read_only and law is not Law.READ_ONLY:
        return LawOutcome(law=law, verdict=Verdict.NOT_APPLICABLE, why="It only reads.")
    if isinstance(trial.world, Resettable):
        await trial.world.reset()
    try:
        return LawOutcome(law=law, verdict=Verdict.PASSED, why=await _CHECKS[law](trial))
    except NotApplicable as error:
        return LawOutcome(law=law, verdict=Verdict.NOT_APPLICABLE, why=str(error))
    except ApplicationError as error:
        return LawOutcome(law=law, verdict=Verdict.FAILED, why=error.message)
    except Broken as error:
        return LawOutcome(law=law, verdict=Verdict.FAILED, why=str(error))


def _certificate(trial: Trial, laws: list[LawOutcome], case: str) -> Certificate:
    kept = all(each.verdict is not Verdict.FAILED for each in laws)
    tool: AnyTool = trial.tool
    return Certificate(
        tool=tool.name,
        version=tool.version,
        description=tool.description,
        case=case,
        compared=described(trial.world),
        grade=trial.grade if kept else CertifiedGrade.UNVERIFIED,
        left=trial.left if kept else None,
        laws=tuple(laws),
    )


def _maker(request: Req | Callable[[], Req]) -> Callable[[], Request]:
    return (lambda: request) if isinstance(request, Request) else request
