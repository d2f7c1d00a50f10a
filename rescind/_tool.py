"""The contract: a tool is one thing an agent can do, paired with its undo and its lookup."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeAlias, TypedDict, overload

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from temporalio.common import RetryPolicy
from typing_extensions import Unpack

from rescind import _checks
from rescind._calls import Absent, Applied, Call, Receipt, Req, Res, Restoration, Unknown
from rescind._errors import ToolRefused
from rescind._signature import signature
from rescind._states import Repeat
from rescind.evidence import Proves

if TYPE_CHECKING:  # at run time Pydantic's generic models can't be subscripted by their own type variables
    Forward: TypeAlias = Callable[[Call[Req]], Awaitable[Res] | Res]
    Compensate: TypeAlias = Callable[[Receipt[Req, Res]], Awaitable[Restoration] | Restoration]
    Found: TypeAlias = Applied[Res] | Absent | Unknown
    Lookup: TypeAlias = Callable[[Call[Req]], Awaitable[Found[Res]] | Found[Res]]
    Check: TypeAlias = Callable[[Call[Req]], Awaitable[None] | None]

SLACK = timedelta(seconds=3)
"""What an attempt may take beside the provider's answer: the ledger's statements and the way to the call.

A call that could not begin within it is given up unmade, so that nothing is in flight after start-to-close.
"""

HEARTBEAT_FROM = timedelta(seconds=10)
"""Attempts longer than this heartbeat, so that a dead worker is noticed before start-to-close (DESIGN 4.4)."""


class Risk(StrEnum):
    """How bad it is when the tool does the wrong thing; from HIGH on it may be irreversible."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class Retries(BaseModel):
    """How often, and at which pace, an activity is tried.

    Attributes:
        tries: Attempts at most, the first included.
        first_wait: Wait after the first attempt; it doubles after each further one.
        longest_wait: The longest wait between two attempts.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tries: int = Field(ge=1)
    first_wait: timedelta = Field(default=timedelta(milliseconds=500), gt=timedelta(0))
    longest_wait: timedelta = timedelta(seconds=30)

    @model_validator(mode="after")
    def _waits_grow(self) -> Self:
        if self.longest_wait < self.first_wait:
            raise ValueError(
                f"longest_wait ({self.longest_wait.total_seconds():g} s) is below first_wait "
                f"({self.first_wait.total_seconds():g} s), and Temporal schedules nothing with such waits; raise it"
            )
        return self

    def policy(self, *, bounded: bool = True) -> RetryPolicy:
        """The same as Temporal's retry policy; unbounded where the tries are counted in the ledger."""
        return RetryPolicy(
            initial_interval=self.first_wait,
            maximum_interval=self.longest_wait,
            maximum_attempts=self.tries if bounded else 0,
        )


class ReadOptions(TypedDict, total=False):
    """The parts of a read-only tool that have a default; `Tool` describes them."""

    version: int
    timeout: timedelta
    retries: Retries
    proves: Proves | None


class ToolOptions(ReadOptions, total=False):
    """Those of any other tool."""

    retriable: bool
    repeat: Repeat | None
    late_for: timedelta
    undo_timeout: timedelta
    undo_retries: Retries
    undo_within: timedelta | None
    acts_on: tuple[str, ...]


class Tool(
    BaseModel,
    Generic[Req, Res],
    frozen=True,  # here and not in model_config, since pyright sees only this
    extra="forbid",
    arbitrary_types_allowed=True,
):
    """One thing an agent can do: a forward activity, its compensation, its lookup, and perhaps a check before the call.

    They are ordinary `@activity.defn` functions, `async def` or `def`; a `def` runs in a thread and
    declares `no_thread_cancel_exception=True`, since an exception thrown into the thread could
    fall between the effect and its record.

    Attributes:
        name: A dotted lower-case identifier, `system.verb_noun`; it stays the same for ever, the ledger keeps it.
        description: What it does and what its undo does, for a person or a planner that chooses tools.
        forward: `(Call[Request]) -> Result`.
        compensate: `(Receipt[Request, Result]) -> Restoration`; compares before it undoes, and is idempotent.
        lookup: `(Call[Request]) -> Applied[Result] | Absent | Unknown`.
        check: `(Call[Request]) -> None`; looks at the world just before the call, after people have approved it, and
            raises `rescind.evidence.Refused` where the call can't succeed any more. Whatever it raises, the call is
            not made. It changes nothing, may take half of `timeout`, and is not asked while an earlier attempt may
            have taken effect, since it could be looking at its own work.
        is_reversible: Declared, never derived: with a compensation True, without one False.
        read_only: It changes nothing; it never enters the stack nor the ledger.
        risk: At least HIGH for a tool that is neither reversible nor read-only.
        version: The schema version of request and result; raise it when an old receipt cannot be read any more.
        retriable: After a point of no return it is tried until it succeeds.
        repeat: What a second attempt does while an earlier one is unproven; by default `looked_up` with a
            lookup, `never` without one.
        late_for: How long the provider may still act after the client has gone.
        timeout: How long one attempt's calls to the provider may take together. `async def` activities are
            cut off after it; `def` activities pass `rescind.time_left()` to their client.
        retries: The forward attempts.
        undo_timeout: The same as `timeout`, for the compensation and the lookup.
        undo_retries: The compensation's own budget, counted in the ledger in tries that were begun.
        undo_within: For how long after the commit the step can be undone; None is for ever.
        proves: Weighs the client's errors, from `rescind.evidence`.
        acts_on: The things that it changes, as paths of words and of the request's fields: `s3/{bucket}/{key}`. By
            them the check of a plan knows which of its steps meet; empty where no other step could.

    Raises:
        ToolRefused: The declaration breaks the contract; the message says what, why, and what to write instead.
    """

    name: str
    description: str
    forward: Callable[..., Any]
    compensate: Callable[..., Any] | None = None
    lookup: Callable[..., Any] | None = None
    check: Callable[..., Any] | None = None
    is_reversible: bool = False
    read_only: bool = False
    risk: Risk = Risk.MEDIUM
    version: int = Field(default=1, ge=1)
    retriable: bool = False
    repeat: Repeat | None = None
    late_for: timedelta = timedelta(0)
    timeout: timedelta = timedelta(seconds=15)
    retries: Retries = Retries(tries=4)
    undo_timeout: timedelta = timedelta(seconds=15)
    undo_retries: Retries = Retries(tries=8)
    undo_within: timedelta | None = None
    proves: Callable[..., Any] | None = None
    acts_on: tuple[str, ...] = ()

    @overload
    def __init__(
        self,
        *,
        name: str,
        description: str,
        forward: Forward[Req, Res],
        compensate: Compensate[Req, Res],
        lookup: Lookup[Req, Res] | None = None,
        check: Check[Req] | None = None,
        is_reversible: Literal[True],
        risk: Risk = Risk.MEDIUM,
        **options: Unpack[ToolOptions],
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        name: str,
        description: str,
        forward: Forward[Req, Res],
        lookup: Lookup[Req, Res] | None = None,
        check: Check[Req] | None = None,
        is_reversible: Literal[False] = False,
        risk: Literal[Risk.HIGH, Risk.CRITICAL],
        **options: Unpack[ToolOptions],
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        name: str,
        description: str,
        forward: Forward[Req, Res],
        is_reversible: Literal[False] = False,
        read_only: Literal[True],
        risk: Risk = Risk.LOW,
        **options: Unpack[ReadOptions],
    ) -> None: ...
    def __init__(self, **declared: Any) -> None:
        try:
            super().__init__(**declared)
        except ValidationError as error:
            raise ToolRefused(str(declared.get("name", "?")), _said(error)) from None

    @model_validator(mode="after")
    def _keep_the_contract(self) -> Tool[Req, Res]:
        _checks.refuse_unless_sound(self)
        return self

    @property
    def request_type(self) -> type[Req]:
        """The model of the request, read from the forward activity's parameter."""
        request: type[Req] = signature(self.forward).parameter_arguments[0]
        return request

    @property
    def result_type(self) -> type[Res]:
        """The model of the result, read from the forward activity's return annotation."""
        result: type[Res] = signature(self.forward).returns
        return result

    @property
    def repeats(self) -> Repeat:
        """What a second attempt does while an earlier one is unproven, with the default filled in."""
        return self.repeat or (Repeat.LOOKED_UP if self.lookup else Repeat.NEVER)

    @property
    def start_to_close(self) -> timedelta:
        """The time after which Temporal gives a forward attempt up: the provider's and ours."""
        return self.timeout + SLACK

    @property
    def undo_start_to_close(self) -> timedelta:
        """The time after which Temporal gives a compensation's attempt up."""
        return self.undo_timeout + SLACK


def _said(error: ValidationError) -> list[str]:
    return [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()]
