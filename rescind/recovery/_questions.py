"""What the sweeper can't decide by itself, in words: what happened, how the world is, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rescind.ledger import LedgerBehind
from rescind.reconciliation._alerts import Question

_NAMED = 3


def many_gone(sagas: Sequence[str], asked: int) -> Question:
    """Many sagas have a workflow that Temporal does not know."""
    return Question(
        key="many-gone",
        what=(
            f"{len(sagas)} of {asked} unfinished sagas have a workflow that Temporal doesn't know, {_some(sagas)}: was "
            "this server wiped, or is it another one?"
        ),
        world="nothing of them was undone, and what they did stands",
        to_do="bring the right server back; if they are really lost, undo each with the command undo",
    )


def not_committed(saga: str, standing: int) -> Question:
    """A workflow has completed, and its saga was neither sealed nor undone."""
    return Question(
        key=f"not-committed/{saga}",
        what=(
            f"{saga} has completed without a commit: its workflow has swallowed what left the saga's block, or its "
            "seal was lost with a newer ledger"
        ),
        world=f"{standing} of its steps stand; nothing was undone",
        to_do="mend the workflow; then take the saga back with the command undo, or leave it",
    )


def sealed_and_gone(saga: str) -> Question:
    """A saga is sealed, and Temporal does not know its workflow any more."""
    return Question(
        key=f"sealed-and-gone/{saga}",
        what=(
            f"{saga} is sealed and its workflow is gone, so that nobody can tell whether it completed; most likely it "
            "did"
        ),
        world="its steps stand; nothing was undone",
        to_do="leave it, or take it back with the command undo; keep workflows longer than the sweeper may pause",
    )


def stalled(saga: str, failures: int) -> Question:
    """A running workflow does not go on."""
    return Question(
        key=f"stalled/{saga}",
        what=(
            f"{saga} does not go on: its workflow's own code has failed {failures} times, a bug or a worker of another "
            "version"
        ),
        world="what it did stands, and nothing is undone by this; it hears no cancellation either",
        to_do="mend the code and deploy it, and it goes on; or terminate the workflow, and the saga is undone",
    )


def ledger_behind(error: LedgerBehind) -> Question:
    """The ledger is older than Temporal remembers it."""
    return Question(
        key="ledger-behind",
        what=f"{str(error).partition(': ')[0]}: it was restored from an older backup, or it is another one",
        world="no effect is begun, undone or settled; sagas wait",
        to_do="stop the workers; restore a newer one, or bring this one in step with the command restored",
    )


def unattended(spaces: Iterable[str]) -> list[Question]:
    """Namespaces of which the ledger has unfinished sagas, and at which no sweeper looks."""
    return [
        Question(
            key=f"unattended/{space}",
            what=(
                f"the ledger has unfinished sagas of a namespace with the id {space}, at which no sweeper has looked "
                "for an hour: its server was replaced by another one, or none of its workers sweeps"
            ),
            world="nothing of them is undone, and what they did stands",
            to_do="start a worker in that namespace; if it is gone for ever, look at rescind.standing in the ledger",
        )
        for space in spaces
    ]


def _some(sagas: Sequence[str]) -> str:
    more = f" and {len(sagas) - _NAMED} more" if len(sagas) > _NAMED else ""
    return ", ".join(sagas[:_NAMED]) + more
