"""Asks a model for a plan, and says in plain words why there is none."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer
from temporalio.service import RPCError

from rescind._catalogue import AnyTool
from rescind._visible import visible
from rescind.cli._commands import Connect
from rescind.cli._exit import ExitCode, Stopped
from rescind.cli._start import require_worker
from rescind.cli._tools import chosen
from rescind.plans import Plan, entries

if TYPE_CHECKING:
    from rescind.planner import Ask, Proposal

NO_MODEL = """\
No model is named. Nothing was started. Set these, or give --model:
  RESCIND_MODEL=provider:name, such as anthropic:claude-sonnet-4-5 or openai:gpt-5.2
  and that provider's key, such as ANTHROPIC_API_KEY or OPENAI_API_KEY.
For any OpenAI-compatible endpoint: RESCIND_MODEL=openai-chat:NAME, OPENAI_BASE_URL=http://host/v1, OPENAI_API_KEY."""

_NO_PLANNER = "The planner is not installed. Nothing was started. Install it: pip install 'rescind[planner]'"


def asked_for(
    goal: str,
    *,
    model: str,
    catalogue: Sequence[AnyTool],
    only: Sequence[str],
    approved: list[str],
    patience: float,
) -> Ask:
    """What the model is asked, or the end with what is wrong with it.

    Raises:
        Stopped: The planner, the model, its key or a tool is missing; nothing was started.
    """
    try:
        from rescind.planner import Ask, NotReady, require_ready  # noqa: PLC0415  (only who plans has it)
    except ImportError:
        raise Stopped(_NO_PLANNER, ExitCode.BAD_INPUT) from None
    if not goal.strip() or len(goal) > 2_000:
        words = f"The goal has {len(goal.strip())} characters, and 1 to 2000 are taken. Nothing was started."
        raise Stopped(words, ExitCode.BAD_INPUT)
    names = [name.strip() for each in only for name in each.split(",") if name.strip()]
    allowed = [entry.name for entry in chosen(entries(catalogue), names)]
    chosen(entries(catalogue), approved)
    try:
        require_ready(model)
    except NotReady as error:
        raise Stopped(f"{error}\nNothing was started.", ExitCode.BAD_INPUT) from None
    return Ask(goal=goal.strip(), model=model, tools=allowed, pre_approved=approved, patience=patience)


async def proposal(
    connect: Connect,
    asked: Ask,
    catalogue: Sequence[AnyTool],
    *,
    workflow_id: str,
    task_queue: str | None,
) -> Proposal:
    """What the model proposes.

    Args:
        connect: Connects to Temporal.
        asked: What the model is asked.
        catalogue: The application's tools.
        workflow_id: The id of the plan's own workflow, for the one that asks.
        task_queue: Where workers have to be, so that nobody is asked for nothing; None where nothing will be run.

    Raises:
        Stopped: There is no answer; nothing was run.
    """
    from rescind.planner import ModelFailed, NotReady, propose  # noqa: PLC0415  (only who plans has it)

    server = await connect()
    if task_queue is not None:
        await require_worker(server, task_queue)
    typer.echo(f"Asking {asked.model} for a plan with {len(asked.tools)} tools.", err=True)
    name = f"{workflow_id}-proposal-{uuid.uuid4().hex[:8]}"
    try:
        return await propose(server.client, asked, catalogue, workflow_id=name)
    except NotReady as error:
        raise Stopped(f"{visible(str(error))}.\nNothing was run.", ExitCode.BAD_INPUT) from None
    except ModelFailed as error:
        words = (
            f"There is no plan: {visible(str(error))}.\nNothing was run. Try again, or with another --model."
        )
        raise Stopped(words, ExitCode.UNREACHABLE) from None
    except RPCError as error:
        words = (
            f"The Temporal server at {server.where} did not get it done: {error.message}. Nothing was run."
        )
        raise Stopped(words, ExitCode.UNREACHABLE) from None


def sound(proposal: Proposal) -> Plan:
    """The plan.

    Raises:
        Stopped: There is none, and why.
    """
    if proposal.plan is not None:
        return proposal.plan
    if proposal.declined is not None:
        words = f"The model sees no plan for this: {visible(proposal.declined)}\nNothing was run."
        raise Stopped(words, ExitCode.BAD_INPUT)
    shown = "\n".join(f"  - {visible(str(each))}" for each in proposal.problems)
    raise Stopped(
        f"The model gave no sound plan in {proposal.answers} answers. Its last one is refused:\n{shown}\nNothing was "
        "run. Say the goal more exactly, allow the tools that it needs, or try another --model.",
        ExitCode.BAD_INPUT,
    )
