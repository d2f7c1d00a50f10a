"""Reads what a person has sent by an Update: one JSON object, of which every problem is named at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeAlias, TypeVar

from pydantic import BaseModel, Field, ValidationError
from pydantic_core import to_json
from temporalio.exceptions import ApplicationError

Word = TypeVar("Word", bound=BaseModel)

NAME = 200
"""Characters of a person's name at most."""

NOTE = 2000
"""Characters of a person's reason at most."""

Who: TypeAlias = Annotated[str, Field(min_length=1, max_length=NAME, pattern=r"\S")]
Note: TypeAlias = Annotated[str, Field(min_length=1, max_length=NOTE, pattern=r"\S")]


def word_of(model: type[Word], verb: str, said: object, not_taken: Callable[[str], ApplicationError]) -> Word:
    """A person's word as its model.

    Args:
        model: What the Update takes.
        verb: The Update's name.
        said: What was sent, as plain data.
        not_taken: Makes the error for whoever has sent it.

    Raises:
        ApplicationError: It is not what the Update takes; the message names every problem.
    """
    try:
        return model.model_validate_json(to_json(said))
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, each['loc'])) or 'the whole'}: {each['msg']}" for each in error.errors()
        )
        raise not_taken(
            f'{verb} takes one JSON object, {{"step": "...", "who": "...", "note": "..."}}; {problems}'
        ) from None
