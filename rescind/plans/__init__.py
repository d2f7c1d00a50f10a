"""Plans: the catalogue for those who write them, the check before the run, and the workflow that runs them."""

from rescind.plans._ask import ANSWERS, ASK_MODEL, Answer, Ask, Proposal, Question
from rescind.plans._certified import certified
from rescind.plans._check import Checked, check
from rescind.plans._entry import (
    CatalogueEntry,
    GradeOf,
    ProvenGrade,
    ToolClass,
    class_of,
    entries,
    entry_of,
    unverified,
)
from rescind.plans._execute import ExecutePlan
from rescind.plans._export import (
    anthropic_tools,
    called_arguments,
    called_tool,
    function_name,
    mcp_tools,
    openai_tools,
)
from rescind.plans._order import Became, Continuing, PlanDone, PlanOrder, StepDone
from rescind.plans._plan import Plan, Retry, Skip, Step, Substitute
from rescind.plans._preview import Left, StepPreview, preview
from rescind.plans._problem import Fault, Problem

__all__ = [
    "ANSWERS",
    "ASK_MODEL",
    "Answer",
    "Ask",
    "Became",
    "CatalogueEntry",
    "Checked",
    "Continuing",
    "ExecutePlan",
    "Fault",
    "GradeOf",
    "Left",
    "Plan",
    "PlanDone",
    "PlanOrder",
    "Problem",
    "Proposal",
    "ProvenGrade",
    "Question",
    "Retry",
    "Skip",
    "Step",
    "StepDone",
    "StepPreview",
    "Substitute",
    "ToolClass",
    "anthropic_tools",
    "called_arguments",
    "called_tool",
    "certified",
    "check",
    "class_of",
    "entries",
    "entry_of",
    "function_name",
    "mcp_tools",
    "openai_tools",
    "preview",
    "unverified",
]
