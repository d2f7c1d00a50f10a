"""The planner: a language model proposes a plan from the catalogue, and the check decides. Extra `planner`."""

from rescind.planner._activity import planner_activities
from rescind.planner._model import NotReady, require_ready
from rescind.planner._propose import ModelFailed, answering, propose
from rescind.planner._workflow import ProposePlan
from rescind.plans import ANSWERS, Answer, Ask, Proposal, Question

__all__ = [
    "ANSWERS",
    "Answer",
    "Ask",
    "ModelFailed",
    "NotReady",
    "Proposal",
    "ProposePlan",
    "Question",
    "answering",
    "planner_activities",
    "propose",
    "require_ready",
]
