"""The reference model: what the world of one saga may be, given how it ended and what people have said."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from rescind import RecordState
from rescind.ledger import EffectView
from tests.model.programs import Make
from tests.rescind.toy_world import Behaviour, World

OTHERS = frozenset({"wanted", "somebody else"})
STANDS = frozenset({RecordState.APPLIED, RecordState.RESOLVED})


@dataclass
class ModelWorld(World):
    """A world that tells when a call of some number arrives, and in which others take things over.

    Attributes:
        at: The number of the call at which `trouble` is called.
        trouble: What happens then.
        to_steal: Things that become somebody else's right before they are taken away.
        stolen: Those that have.
        by_hand: What a person has taken away.
    """

    at: int = 0
    trouble: Callable[[], object] = lambda: None
    to_steal: set[str] = field(default_factory=set[str])
    stolen: set[str] = field(default_factory=set[str])
    by_hand: set[str] = field(default_factory=set[str])

    def prepare(self, step: Make) -> None:
        """Plan what a step's calls meet."""
        self.plan[f"make {step.name}"] = list(step.forward)
        self.plan[f"tell {step.name}"] = list(step.forward)
        self.plan[f"unmake {step.name}"] = list(step.undo)
        self.plan[f"find {step.name}"] = list(step.find)
        if step.there:
            self.things[step.name] = step.there
        if step.stolen:
            self.to_steal.add(step.name)

    def next(self, call: str) -> Behaviour:
        """What this call is to do."""
        behaviour = super().next(call)
        verb, _, name = call.partition(" ")
        if verb == "unmake" and name in self.to_steal and self.ours(name):
            self.things[name] = "somebody else"
            self.stolen.add(name)
        if len(self.log) == self.at:
            self.trouble()
        return behaviour

    def ours(self, name: str) -> bool:
        """Whether this thing is the work of a saga."""
        return self.things.get(name, "wanted") not in OTHERS

    def wrong(self, steps: list[Make], rows: list[EffectView], *, committed: bool) -> Iterator[str]:
        """Everything in which the world is not as the ledger's rows say, or more was done to it than once."""
        by_name = {row.request["name"]: row for row in rows if isinstance(row.request, dict)}
        for step in steps:
            row = by_name.get(step.name)
            if self.makes[step.name] > 1:
                yield f"{step.name} was done {self.makes[step.name]} times"
            if step.there and self.things.get(step.name) != step.there:
                yield f"{step.name} was there before, and is {self.things.get(step.name)!r} now"
            if step.name in self.stolen and self.things.get(step.name) != "somebody else":
                yield f"{step.name} was somebody else's, and is {self.things.get(step.name)!r} now"
            if self.ours(step.name) and (row is None or row.state not in STANDS):
                yield f"{step.name} stands, and the ledger has it as {row.state.value if row else 'nothing'}"
            if committed and row and row.state is RecordState.APPLIED and step.name not in self.things:
                yield f"{step.name} is committed, and not there"
            if (
                committed
                and row
                and row.state not in {RecordState.APPLIED, RecordState.ABSENT, RecordState.UNDONE}
            ):
                yield f"{step.name} is {row.state.value} in a committed saga"
            if not committed and row and row.state is RecordState.APPLIED:
                yield f"{step.name} is applied in a saga that is closed"
