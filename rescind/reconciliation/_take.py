"""How a person's word is taken: the lookup is asked, and both are put on record."""

from __future__ import annotations

import asyncio

from pydantic import JsonValue, ValidationError
from pydantic_core import to_json, to_jsonable_python
from temporalio import activity
from temporalio.exceptions import ApplicationError

from rescind._attempt import Attempt
from rescind._bench import Bench, Found, deadline
from rescind._calls import Absent, Applied, Unknown
from rescind._forward import call_of
from rescind._settle import refuse_to_store
from rescind._states import Verdict
from rescind.ledger import EffectAddress, OpenEffect, Refused, Seen, TakenOver, Wait
from rescind.reconciliation._case import Taken, Verb, WordOrder
from rescind.reconciliation._words import not_taken

_VERDICTS = {
    Verb.RETRY: Verdict.RETRY,
    Verb.RESOLVE: Verdict.DONE,
    Verb.WAIVE: Verdict.WAIVE,
    Verb.CONFIRM: Verdict.CONFIRM,
    Verb.ABSENT: Verdict.ABSENT,
}
_ASKED = frozenset({Verb.RESOLVE, Verb.CONFIRM, Verb.ABSENT})
"""What the lookup has something to say to; a retry asks it itself, and what may stay is not in question."""

_MANY = 10_000


class TakenWord:
    """One person's word on one effect."""

    def __init__(self, bench: Bench, order: WordOrder) -> None:
        self.bench, self.order = bench, order
        self.tool = bench.catalogue.get(order.tool)

    async def run(self) -> Taken:
        """Ask, and put the word on record.

        Raises:
            ApplicationError: Of type `NotTaken` where it does not fit; nothing was changed.
        """
        saga = await self.bench.ledger.open_effects(self.bench.saga(self.order.saga), _MANY)
        if saga is None:
            raise not_taken(f"the ledger has no saga {self.order.saga}")
        effect = next((each for each in saga.effects if each.key == self.order.key), None)
        found = await self._found(effect) if effect and self.order.verb in _ASKED else None
        at = EffectAddress(saga.id, saga.epoch, self.order.key, self.order.seq)
        return await self._resolve(at, found)

    async def _resolve(self, at: EffectAddress, found: Found | None) -> Taken:
        verb, word, info = self.order.verb, self.order.word, activity.info()
        seen = None if found is None else _seen(verb, found)
        try:
            resolved = await self.bench.ledger.resolve(
                at,
                _VERDICTS[verb],
                who=word.who,
                note=word.note,
                result=self._result(found) if verb is Verb.CONFIRM else None,
                word=f"{info.workflow_run_id}/{info.activity_id}",
                seen=seen,
            )
        except TakenOver as error:  # the next attempt reads the epoch anew
            raise ApplicationError(str(error), type="TakenOverMeanwhile") from error
        match resolved:
            case Wait(wait=wait):
                raise not_taken(
                    f"an attempt of {self.order.step} may still land for {wait:.0f} s; say it again then"
                )
            case Refused(state=state):
                raise not_taken(f"{self.order.step} is {state.value.replace('_', ' ')} by now")
            case state:
                return Taken(
                    state=state, seen=seen and seen.words, disagrees=seen is not None and seen.disagrees
                )

    async def _found(self, effect: OpenEffect) -> Found | None:
        """What the lookup says; None where there is none. What it raises is no answer, and said as such."""
        tool = self.tool
        if tool is None or tool.lookup is None:
            return None
        ends = deadline(tool.undo_timeout)
        try:
            call = call_of(tool, self.order.key, effect.request)
            attempt = Attempt(effect.before, refuse_to_store, ends, asyncio.get_running_loop())
            found = await self.bench.look_up(tool, call, attempt, limit=tool.undo_timeout)
        except Exception as error:  # noqa: BLE001  (whatever a lookup raises is no answer)
            return Unknown(why=f"it did not answer: {type(error).__name__}: {error}")
        if self.order.verb is Verb.ABSENT and isinstance(found, Applied):
            raise not_taken(
                f"{self.order.step} can't be declared absent: its lookup finds it. Say confirm, and it is undone"
            )
        return found

    def _result(self, found: Found | None) -> JsonValue:
        """The result to compensate with, checked against the tool's model."""
        if self.tool is None:
            raise not_taken(
                f"no worker knows the tool {self.order.tool!r}, so no result of it can be checked"
            )
        plain = self.order.word.result
        if plain is None and isinstance(found, Applied):
            return to_jsonable_python(found.result)  # type: ignore[no-any-return]  # it is JSON
        if plain is None:
            raise not_taken(
                f"confirm needs the result of {self.order.step}, since its lookup does not find one"
            )
        try:
            self.tool.result_type.model_validate_json(to_json(plain))
        except ValidationError as error:
            name = self.tool.result_type.__name__
            problems = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
            raise not_taken(f"the result is no {name}: {problems}") from None
        return plain


def _seen(verb: Verb, found: Found) -> Seen:
    match found:
        case Applied():
            return Seen("its lookup still finds it", disagrees=verb is Verb.RESOLVE)
        case Absent():
            return Seen("its lookup finds nothing of it", disagrees=verb is Verb.CONFIRM)
        case Unknown(why=why):
            return Seen(f"its lookup can't tell: {why}")
