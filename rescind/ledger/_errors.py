"""What can go wrong with the ledger, each with the state that the world is in then."""


class LedgerError(Exception):
    """Every error of the ledger is one of these."""


class TakenOver(LedgerError):
    """Somebody else has claimed the saga; the statement changed nothing."""

    def __init__(self, saga: str, owner: str | None, epoch: int) -> None:
        super().__init__(
            f"Saga {saga} was taken over by {owner or 'nobody known'} (epoch {epoch}), who undoes what "
            "stands. This statement changed nothing. Start the work anew under another workflow run."
        )
        self.saga = saga
        self.owner = owner
        self.epoch = epoch

    def __reduce__(self) -> tuple[type["TakenOver"], tuple[str, str | None, int]]:
        return type(self), (self.saga, self.owner, self.epoch)


class LedgerBehind(LedgerError):
    """The ledger was restored from an older backup: nothing is begun, undone or settled until it is in step again."""

    def __init__(self, found: str = "This ledger is older than Temporal remembers it") -> None:
        super().__init__(
            f"{found}: it was restored from an older backup, or it is another one. Nothing was begun, and no effect is "
            "begun, undone or settled by it. Sagas wait. Restore a newer one, or bring this one in step with the "
            "command restored, as docs/restore.md says."
        )


class EffectFenced(LedgerError):
    """The effect is being settled or undone, so this attempt must not act; nothing was changed."""


class IllegalTransition(LedgerError):
    """The statement does not fit the state that the effect or saga is in; nothing was changed."""


class LedgerUnavailable(LedgerError):
    """The ledger did not answer; `ran` is False where the statement provably changed nothing."""

    def __init__(self, message: str, *, ran: bool | None = None) -> None:
        super().__init__(message)
        self.ran = ran


class LedgerNotInstalled(LedgerError):
    """The database has no ledger of the version that this program speaks; nothing was changed."""
