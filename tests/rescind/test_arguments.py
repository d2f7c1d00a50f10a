"""What a workflow's run method can be started with."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from rescind._arguments import misfit


class Order(BaseModel):
    """An order."""

    number: int = 1


class Takes:
    """Run methods of each kind."""

    async def one(self, order: Order) -> None: ...
    async def none(self) -> None: ...
    async def optional(self, order: Order, note: str | None = None) -> None: ...
    async def nullable(self, order: Order | None) -> None: ...
    async def anything(self, *orders: Order) -> None: ...


FITS: list[tuple[Callable[..., Any], list[Any]]] = [
    (Takes.one, [Order()]),
    (Takes.none, []),
    (Takes.optional, [Order()]),
    (Takes.optional, [Order(), None]),
    (Takes.nullable, [None]),
    (Takes.anything, [None, 3]),
]
MISFITS: list[tuple[Callable[..., Any], list[Any], str]] = [
    (Takes.one, [], "W was given 0 arguments, and takes 1: `order` (Order)"),
    (Takes.none, [3], "W was given 1 arguments, and takes 0: none"),
    (
        Takes.optional,
        [1, 2, 3],
        "W was given 3 arguments, and takes 2: `order` (Order), `note` (str | None)",
    ),
    (Takes.one, [None], "W was given null for `order`, which has to be a JSON object of Order"),
    (Takes.optional, [{}], "W was given a dict for `order`, which has to be a JSON object of Order"),
    (Takes.one, [b"{}"], "W was given a bytes for `order`, which has to be a JSON object of Order"),
]


@pytest.mark.parametrize(("run", "given"), FITS)
def test_what_fits(run: Callable[..., Any], given: list[Any]) -> None:
    """As many arguments as the method takes, with null only where it takes null, are left to the method."""
    assert misfit("W", run, given) == ""


@pytest.mark.parametrize(("run", "given", "said"), MISFITS)
def test_what_does_not_fit(run: Callable[..., Any], given: list[Any], said: str) -> None:
    """The message says what was given and what is taken."""
    assert misfit("W", run, given) == said
