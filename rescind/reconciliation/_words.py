"""The sentences of a reconciliation: what to do about an effect, and why a word is not taken."""

from __future__ import annotations

from collections.abc import Mapping

from temporalio.exceptions import ApplicationError

from rescind._persons_word import word_of
from rescind._states import RecordState
from rescind.ledger import HowOpen
from rescind.reconciliation._case import OpenStep, Verb, Word

_TO_DO: Mapping[HowOpen, str] = {
    HowOpen.IN_DOUBT: (
        "find out at the provider whether it took effect; then say confirm (with its result: it is undone) or absent"
    ),
    HowOpen.CONFLICT: (
        "somebody has changed it since: decide what holds; then say retry, or undo it by hand and say resolve, or waive"
    ),
    HowOpen.FAILED: (
        "it is tried again by itself; say retry when the provider is back, or undo it by hand and say resolve, or waive"
    ),
    HowOpen.UNTRIED: "it can't be undone: make it good by hand and say resolve, or waive",
}
_IN_WORDS: Mapping[HowOpen, str] = {
    HowOpen.IN_DOUBT: "in doubt",
    HowOpen.CONFLICT: "conflict",
    HowOpen.FAILED: "undo failed",
    HowOpen.UNTRIED: "no undo",
}
_NOTED = (Verb.RESOLVE, Verb.WAIVE)


def to_do(how: HowOpen) -> str:
    """What a person can do about an effect that came to need one in this way."""
    return _TO_DO[how]


def in_words(how: HowOpen) -> str:
    """How an effect came to need a person, in two words."""
    return _IN_WORDS[how]


def not_taken(why: str) -> ApplicationError:
    """A person's word is not taken; nothing was changed by it."""
    return ApplicationError(f"{why}. Nothing was changed", type="NotTaken", non_retryable=True)


def heard(verb: Verb, said: object) -> Word:
    """A person's word as they sent it, checked.

    Raises:
        ApplicationError: It is not what the Update takes; the message names every problem.
    """
    word = word_of(Word, verb, said, not_taken)
    if verb in _NOTED and word.note is None:
        raise not_taken(f"{verb} needs a note: what was done, or why it may stay")
    if verb is not Verb.CONFIRM and word.result is not None:
        raise not_taken(f"{verb} takes no result; to give one, say confirm")
    return word


def fitting(verb: Verb, word: Word, steps: list[OpenStep], closed: Mapping[str, str]) -> OpenStep:
    """The open effect that is spoken of.

    Raises:
        ApplicationError: There is none of this name, or the word does not fit its state; the message says what does.
    """
    found = next((each for each in steps if each.step == word.step), None)
    if found is None:
        if word.step in closed:
            raise not_taken(f"{word.step} is not open any more: {closed[word.step]}")
        names = ", ".join(each.step for each in steps) or "nothing"
        raise not_taken(f"no open step is called {word.step!r}; open: {names}")
    if verb not in found.can:
        raise not_taken(
            f"{verb} does not fit {word.step}, which is {found.state.value.replace('_', ' ')} ({in_words(found.how)}); "
            f"possible: {', '.join(found.can)}"
        )
    return found


def said(verb: Verb, word: Word, state: RecordState) -> str:
    """What became of an effect by a person's word."""
    by = f"by {word.who}{f': {word.note}' if word.note else ''}"
    match verb:
        case Verb.RESOLVE:
            return f"resolved {by}"
        case Verb.WAIVE:
            return f"left standing {by}"
        case Verb.ABSENT:
            return f"declared absent {by}"
        case _:
            return f"{state.value.replace('_', ' ')} after a {verb} {by}"
