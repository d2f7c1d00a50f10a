"""The failures that the activities around tools raise, each with the state of the record in its details."""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta

from temporalio.exceptions import ApplicationError

from rescind._states import RecordState
from rescind._wire import FailedAttempt
from rescind.evidence import Evidence
from rescind.ledger import IllegalTransition, Refusal, Refused, TakenOver

_LONGEST = 4_000
"""Characters of an error's words that are passed on."""

_SOON = 0.05
"""Seconds added to a wait, so that the next attempt does not come a moment too early."""

TAKEN_OVER = "SagaTakenOver"
"""The type of a failure that says: this run may not go on with its saga."""

_NOT_OURS = frozenset({Refusal.SAGA_NOT_OPEN, Refusal.SAGA_COMMITTED, Refusal.SAGA_CLOSED})


@contextmanager
def words_cut() -> Generator[None]:
    """Cut the words of an error that leaves the block, in place, since its type says what it proves.

    Some clients put a whole answer into them, and a failure of 4 MB can't be reported to Temporal at all.
    """
    try:
        yield
    except Exception as error:
        _shorten(error)
        raise


def _shorten(error: BaseException) -> None:
    """The same for all that it was made from."""
    seen: list[BaseException] = []
    each: BaseException | None = error
    while each is not None and each not in seen:
        seen.append(each)
        each.args = tuple(_cut(arg) if isinstance(arg, str) else arg for arg in each.args)
        each = each.__cause__ or each.__context__


def _cut(words: str) -> str:
    left_out = len(words) - _LONGEST
    return f"{words[:_LONGEST]} ({left_out} more characters are left out)" if left_out > 0 else words


def weighed(error: BaseException, evidence: Evidence, state: RecordState) -> ApplicationError:
    """A failed attempt, in the provider's own words."""
    return ApplicationError(
        str(error) or type(error).__name__,
        FailedAttempt(state=state),
        type=type(error).__name__,
        non_retryable=not evidence.try_again,
        next_retry_delay=None if evidence.retry_after is None else timedelta(seconds=evidence.retry_after),
    )


def in_flight(wait: float) -> ApplicationError:
    """An earlier attempt may still act; Temporal brings this one back when it no longer can."""
    return ApplicationError(
        f"an earlier attempt may still be in flight; this one comes back in {wait:.1f} s, nothing was sent",
        type="InFlight",
        next_retry_delay=timedelta(seconds=wait + _SOON),
    )


def lookup_failed(error: BaseException) -> ApplicationError:
    """The lookup did not answer, and is asked again by the next attempt; nothing was decided."""
    return ApplicationError(f"the lookup failed: {type(error).__name__}: {error}", type="LookupFailed")


def refused_by_ledger(refused: Refused, step: str) -> ApplicationError:
    """The ledger does not let the attempt begin; nothing was sent to the provider."""
    state = refused.state if isinstance(refused.state, RecordState) else None
    return ApplicationError(
        f"{step} was not begun: {refused.why.sentence} (it is {refused.state.value.replace('_', ' ')})",
        FailedAttempt(state=state),
        type=TAKEN_OVER if refused.why in _NOT_OURS else "RefusedByLedger",
        non_retryable=True,
    )


def seal_refused(refused: Refused) -> ApplicationError:
    """The ledger does not seal the saga; nothing was changed."""
    return ApplicationError(
        f"the saga was not sealed: {refused.why.sentence}",
        type=TAKEN_OVER if refused.why in _NOT_OURS else "SealRefused",
        non_retryable=True,
    )


def taken_over(error: TakenOver | IllegalTransition) -> ApplicationError:
    """Somebody else has the saga, or has ended it; nothing was changed."""
    return ApplicationError(str(error), type=TAKEN_OVER, non_retryable=True)


def contract_broken(message: str, *, state: RecordState | None) -> ApplicationError:
    """A request or a result does not fit the tool's models."""
    return ApplicationError(message, FailedAttempt(state=state), type="ContractBroken", non_retryable=True)


def too_large(tool: str) -> ApplicationError:
    """The effect stands and its result can't travel through Temporal; it can be undone all the same."""
    return ApplicationError(
        f"{tool} has acted and its result is too large for Temporal; the effect is on record and is undone",
        FailedAttempt(state=RecordState.APPLIED),
        type="ResultTooLarge",
        non_retryable=True,
    )
