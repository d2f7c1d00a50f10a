"""The activity that asks the model once and checks what it wrote; its answer is data, and nothing of it is run here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from temporalio import activity

from rescind import Tool
from rescind._bench import beating
from rescind.planner._draft import judged, no_plan
from rescind.planner._model import NoPlan, ask
from rescind.planner._prompt import form, instructions, prompt
from rescind.plans import ASK_MODEL, Answer, Question, entries


def planner_activities(tools: Iterable[Tool[Any, Any]]) -> list[Callable[..., Any]]:
    """What a worker registers beside `ProposePlan`; the providers' keys are those of its own environment.

    Args:
        tools: The catalogue; of it a model is told what the asker allows, and of that only what `tools --json` prints.
    """
    catalogue = list(tools)

    @activity.defn(name=ASK_MODEL)
    async def ask_model(question: Question) -> Answer:
        allowed = [tool for tool in catalogue if tool.name in question.ask.tools]
        known = entries(allowed)
        try:
            async with beating():
                draft = await ask(
                    question.ask.model,
                    instructions=instructions(question),
                    prompt=prompt(question, known),
                    form=form(entry.name for entry in known),
                    patience=question.ask.patience,
                )
        except NoPlan as error:
            return no_plan(str(error))
        return judged(draft, question, allowed)

    return [ask_model]
