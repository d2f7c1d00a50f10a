"""Asks a language model through pydantic-ai: one request, one answer, and errors that say what to do."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

from pydantic import JsonValue
from pydantic_ai import Agent, StructuredDict, ToolOutput
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelHTTPError,
    UnexpectedModelBehavior,
    UserError,
)
from pydantic_ai.models import Model, infer_model
from temporalio.exceptions import ApplicationError

from rescind import RescindError
from rescind._secrets import words_without_secrets
from rescind.planner._order import MODEL_FAILED, NOT_READY

_WORDS = 300
"""Characters of a provider's own words that are passed on."""

_AGAIN = frozenset({408, 409, 425, 429})
"""HTTP codes below 500 after which the same request may succeed."""

_SETTING = frozenset({401, 403, 404})
"""HTTP codes that last until somebody sets another key, model or address."""

_LONGEST_WAIT = 30.0
"""Seconds that a provider's Retry-After is honoured for."""


class NotReady(RescindError):
    """The model can't be asked as things are set. Nothing was sent; the message says what to set."""


class NoPlan(RescindError):
    """The model has answered, and not with a call of the tool that takes the plan."""


def require_ready(model: str) -> None:
    """Refuse a model that can't be asked from this process, before anything is asked.

    Raises:
        NotReady: Its name, its client or its key is missing.
    """
    _model(model)


async def ask(
    model: str, *, instructions: str, prompt: str, form: dict[str, Any], patience: float
) -> dict[str, JsonValue]:
    """What the model answers, as plain data that nobody has checked.

    Args:
        model: The model as pydantic-ai names it.
        instructions: How it is to answer.
        prompt: The question.
        form: The JSON Schema of the answer, which the model may keep or not.
        patience: Seconds to wait for it.

    Raises:
        NoPlan: It has answered in another way.
        ApplicationError: Of type `ModelNotReady` or `ModelFailed`; it says whether to try again.
    """
    try:
        async with asyncio.timeout(patience), _model(model) as opened:
            return await _run(opened, instructions, prompt, form)
    except NotReady as error:
        raise ApplicationError(str(error), type=NOT_READY, non_retryable=True) from None
    except TimeoutError:
        raise _failed(f"{model} has not answered in {patience:g} seconds", again=False) from None
    except ModelHTTPError as error:
        raise _http_failed(model, error) from None
    except ModelAPIError as error:
        raise _failed(f"{model} could not be asked: {_clean(error)}", again=True) from None
    except UnexpectedModelBehavior as error:
        raise NoPlan(_clean(error.__cause__ or error)) from None
    except UserError as error:
        raise ApplicationError(_clean(error), type=NOT_READY, non_retryable=True) from None


async def _run(model: Model, instructions: str, prompt: str, form: dict[str, Any]) -> dict[str, JsonValue]:
    """One request: what is wrong with the answer is told by the next question, and by nobody else."""
    output = ToolOutput(
        StructuredDict(form), name="propose_plan", description="Propose the plan.", strict=False
    )
    agent = Agent(model, output_type=output, instructions=instructions, retries=0)
    return dict((await agent.run(prompt)).output)


def _model(name: str) -> Model:
    if ":" not in name:  # pydantic-ai has a model `test`, whose answers are made up
        raise NotReady(f"{name!r} names no model; write provider:name, such as openai:gpt-5.2")
    try:
        model = infer_model(name)
    except Exception as error:  # noqa: BLE001  (each provider's client has an error of its own for what is not set)
        raise NotReady(f"{name} can't be asked: {_clean(error)}") from None
    client = getattr(model, "client", None)
    if hasattr(client, "max_retries"):
        setattr(client, "max_retries", 0)  # noqa: B010  (the client is of the provider's own type; Temporal retries)
    return model


def _http_failed(model: str, error: ModelHTTPError) -> ApplicationError:
    code = error.status_code
    if code in _SETTING:
        what = "no such model or address" if code == 404 else "the key is not taken"
        words = (
            f"{model} answered with HTTP {code}: {what}. Look at the model's name, its key and its base URL"
        )
        return ApplicationError(words, type=NOT_READY, non_retryable=True)
    wait = (error.headers or {}).get("retry-after", "")
    return _failed(
        f"{model} answered with HTTP {code}: {_clean(error.body or 'no body')}",
        again=code in _AGAIN or code >= 500,
        wait=min(float(wait), _LONGEST_WAIT) if wait.isdecimal() else None,
    )


def _failed(words: str, *, again: bool, wait: float | None = None) -> ApplicationError:
    delay = None if wait is None else timedelta(seconds=wait)
    return ApplicationError(words, type=MODEL_FAILED, non_retryable=not again, next_retry_delay=delay)


def _clean(said: object) -> str:
    """A provider's or a model's words in one short line, without any key of this process: they go into the history."""
    words = words_without_secrets(" ".join(str(said).split()))
    return words if len(words) <= _WORDS else words[: _WORDS - 1] + "…"
