"""Takes the secrets that this process knows out of what others said, before it goes to anybody outside."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from pydantic import JsonValue

_NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD")
_IN_ADDRESS = re.compile(r"://[^/@\s:]*:([^/@\s]+)@")
_SHORTEST = 8
"""Characters from which on a value is taken for a secret: shorter ones stand in ordinary words, too."""


def without_secrets(said: JsonValue) -> JsonValue:
    """A value without secrets: each is replaced by the name of the environment variable that it stands in.

    Secrets are the values of variables whose names end with `KEY`, `TOKEN`, `SECRET` or `PASSWORD`, and the passwords
    in addresses (`postgresql://user:password@host`), from 8 characters on.
    """
    return _without(said, list(_secrets()))


def words_without_secrets(words: str) -> str:
    """The same for a text."""
    return str(without_secrets(words))


def _secrets() -> Iterator[tuple[str, str]]:
    for name, value in os.environ.items():
        found = [value] if name.endswith(_NAMES) else _IN_ADDRESS.findall(value)
        yield from ((name, each) for each in found if len(each) >= _SHORTEST)


def _without(said: JsonValue, secrets: list[tuple[str, str]]) -> JsonValue:
    if isinstance(said, str):
        for name, value in secrets:
            said = said.replace(value, f"[{name}]")
        return said
    if isinstance(said, list):
        return [_without(each, secrets) for each in said]
    if isinstance(said, dict):
        return {str(_without(key, secrets)): _without(each, secrets) for key, each in said.items()}
    return said
