"""What the ledger has on record of a saga, found by the workflow's id or the saga's own."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from rescind._record import SagaReport
from rescind._recorded import inner, report_of, workflow_of
from rescind._states import SagaState
from rescind.cli._exit import ExitCode, Stopped
from rescind.ledger import Ledger, LedgerError, SagaSummary, SagaView

_MANY = 10_000  # sagas looked through where a workflow's namespace is not known


@asynccontextmanager
async def opened(dsn: str | None) -> AsyncGenerator[Ledger]:
    """The ledger, with one connection.

    Raises:
        Stopped: It is not named, does not answer, or is not installed.
    """
    if not dsn:
        raise Stopped(
            "The ledger's address is not known, so nothing can be read from it. Set RESCIND_LEDGER_DSN to its "
            "connection string.",
            ExitCode.UNREACHABLE,
        )
    try:
        async with Ledger(dsn, connections=1) as ledger:
            yield ledger
    except LedgerError as error:
        raise Stopped(f"The ledger can't be read: {error}", ExitCode.UNREACHABLE) from None


async def find(ledger: Ledger, named: str, namespace_id: str | None) -> SagaView | None:
    """The newest saga of this workflow id, or the one saga of this full id; None if there is none.

    Args:
        ledger: The ledger.
        named: A workflow id; or workflow id and first run id joined by '/', with the namespace's id before it or not.
        namespace_id: The namespace to look in; None looks in all.
    """
    whole = await ledger.show(named)
    if whole is not None:
        return whole
    prefix = "" if namespace_id is None else f"{namespace_id}/{named}"
    for summary in await ledger.sagas(prefix, _MANY):
        if named in (workflow_of(summary.id), inner(summary.id)):
            return await ledger.show(summary.id)
    return None


async def recorded(dsn: str | None, named: str) -> SagaReport | None:
    """The report of a workflow's newest saga, as the ledger has it; None if it has none.

    Raises:
        Stopped: The ledger can't be read.
    """
    async with opened(dsn) as ledger:
        view = await find(ledger, named, None)
    return None if view is None else report_of(view)


def needs_person(summary: SagaSummary) -> bool:
    """Whether a saga that is not running and not done has effects that stand."""
    return summary.state is SagaState.UNWINDING and summary.standing > 0
