"""A sound tool, and activities that break the contract in one way each."""

import functools
import smtplib
import subprocess
import time
from collections.abc import Callable
from typing import Any

import boto3
from pydantic import Secret, SecretStr
from temporalio import activity

from rescind import Absent, Applied, Call, Receipt, Request, Restoration, Result, Unknown


class Paint(Request):
    """Paint a wall."""

    wall: str


class Painted(Result):
    """A painted wall."""

    layers: int


class Wash(Request):
    """Wash a wall."""

    wall: str


class Washed(Result):
    """A washed wall."""


@activity.defn
async def paint(call: Call[Paint]) -> Painted:
    """Paint."""
    return Painted(layers=len(call.request.wall))


@activity.defn
async def unpaint(receipt: Receipt[Paint, Painted]) -> Restoration:
    """Take the paint off."""
    return Restoration.exact() if receipt.result.layers else Restoration.nothing()


@activity.defn
async def find_paint(_call: Call[Paint]) -> Applied[Painted] | Absent | Unknown:
    """Look at the wall."""
    return Absent()


@activity.defn
async def wall_is_there(_call: Call[Paint]) -> None:
    """Look whether there is a wall."""


@activity.defn
async def wash_is_there(_call: Call[Wash]) -> None:
    """Look for another tool."""


@activity.defn
async def is_wall_there(_call: Call[Paint]) -> bool:
    """Answer with what nobody would look at."""
    return True


@activity.defn
async def find_paint_only_when_there(_call: Call[Paint]) -> Applied[Painted]:
    """Look at a wall that is always painted."""
    return Applied(result=Painted(layers=1))


async def undecorated(call: Call[Paint]) -> Painted:
    """An activity without its decorator."""
    return await paint(call)


@activity.defn
async def two_parameters(call: Call[Paint], layers: int = 1) -> Painted:
    """Paint in so many layers."""
    return Painted(layers=len(call.request.wall) + layers)


@activity.defn
async def many_parameters(*calls: Call[Paint]) -> Painted:
    """Paint several walls."""
    return Painted(layers=len(calls))


@activity.defn
async def named_parameters(**calls: Call[Paint]) -> Painted:
    """Paint walls by name."""
    return Painted(layers=len(calls))


@activity.defn
async def no_parameter() -> Painted:
    """Paint whatever is there."""
    return Painted(layers=1)


@activity.defn
async def parameter_to_be_stripped(call: Call[Paint]) -> Painted:
    """Paint something."""
    return Painted(layers=len(call.request.wall))


@activity.defn
async def dictionary(call: dict[str, Any]) -> Painted:
    """Paint what a dict says."""
    return Painted(layers=len(call))


@activity.defn
async def bare_request(request: Paint) -> Painted:
    """Paint without a key."""
    return Painted(layers=len(request.wall))


@activity.defn
async def optional_call(call: Call[Paint] | None) -> Painted:
    """Paint, perhaps."""
    return Painted(layers=0 if call is None else 1)


@activity.defn
async def return_to_be_stripped(call: Call[Paint]) -> Painted:
    """Paint without a word."""
    return Painted(layers=len(call.request.wall))


@activity.defn
async def plain_return(call: Call[Paint]) -> dict[str, int]:
    """Paint, and answer with a dict."""
    return {"layers": len(call.request.wall)}


@activity.defn
async def optional_return(call: Call[Paint]) -> Painted | None:
    """Paint, perhaps."""
    return Painted(layers=1) if call.request.wall else None


@activity.defn
async def unwash(receipt: Receipt[Wash, Washed]) -> Restoration:
    """Undo another tool's work."""
    return Restoration.nothing(receipt.call.request.wall)


@activity.defn
async def unpaint_by_call(call: Call[Paint]) -> Restoration:
    """Undo without a receipt."""
    return Restoration.nothing(call.request.wall)


@activity.defn
async def unpaint_silently(receipt: Receipt[Paint, Painted]) -> None:
    """Undo, and don't say how well."""
    await unpaint(receipt)


@activity.defn
async def find_wash(_call: Call[Wash]) -> Applied[Painted] | Absent | Unknown:
    """Look for another tool's work."""
    return Absent()


@activity.defn
async def find_other_result(_call: Call[Paint]) -> Applied[Washed] | Absent | Unknown:
    """Look, and answer with another tool's result."""
    return Absent()


@activity.defn
async def find_or_none(_call: Call[Paint]) -> Applied[Painted] | None:
    """Look, and answer with nothing for absent."""
    return None


@activity.defn(name="rescind.paint")
async def named_like_ours(call: Call[Paint]) -> Painted:
    """Paint under a name that Rescind keeps for itself."""
    return await paint(call)


class PaintSecretly(Request):
    """A request with a password in it."""

    password: SecretStr


class PaintBySecretNumber(Request):
    """A request with a secret deep in it."""

    numbers: list[dict[str, Secret[int]]]


class PaintByFunction(Request):
    """A request that JSON can't carry."""

    layers: Callable[[], int]


@activity.defn
async def secretly(call: Call[PaintSecretly]) -> Painted:
    """Paint with a password."""
    return Painted(layers=len(call.request.password))


@activity.defn
async def by_secret_number(call: Call[PaintBySecretNumber]) -> Painted:
    """Paint by a secret number."""
    return Painted(layers=len(call.request.numbers))


@activity.defn
async def by_function(call: Call[PaintByFunction]) -> Painted:
    """Paint by a function."""
    return Painted(layers=call.request.layers())


class PaintedSecretly(Result):
    """A result with a secret in it."""

    token: SecretStr


@activity.defn
async def answer_secretly(_call: Call[Paint]) -> PaintedSecretly:
    """Paint, and answer with a secret."""
    return PaintedSecretly(token=SecretStr("t"))


@activity.defn
def interruptible(call: Call[Paint]) -> Painted:
    """Paint in a thread that a cancellation interrupts."""
    return Painted(layers=len(call.request.wall))


def _blocking_decorator(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapped(*arguments: Any) -> Any:
        return function(*arguments)

    return wrapped


@activity.defn(no_thread_cancel_exception=True)
@_blocking_decorator
async def wrapped_in_def(call: Call[Paint]) -> Painted:
    """An `async def` that a decorator turned into a `def`."""
    return await paint(call)


def _without(annotation: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Take an annotation off, as if its author had forgotten it."""
    del function.__annotations__[annotation]
    return function


unannotated_parameter = _without("call", parameter_to_be_stripped)
no_return = _without("return", return_to_be_stripped)


class Painter:
    """Activities as methods, and an object that can be called."""

    def __init__(self, layers: int) -> None:
        self.layers = layers

    @activity.defn(name="paint_by_method")
    async def paint(self, _call: Call[Paint]) -> Painted:
        """Paint with what the object holds."""
        return Painted(layers=self.layers)

    async def __call__(self, call: Call[Paint]) -> Painted:
        """Paint as an object."""
        return await self.paint(call)


async def unresolved(call: "Call[Paint]") -> "Painted":
    """Its annotation names what is not there at run time; it is planted below."""
    return await paint(call)


unresolved.__annotations__["call"] = "Call[Elsewhere]"


def _in_own_module() -> None:
    boto3.client("s3")


@activity.defn
async def sleeping(_call: Call[Paint]) -> Painted:
    """Block the event loop."""
    time.sleep(1)  # noqa: ASYNC251  (the mistake itself)
    return Painted(layers=1)


@activity.defn
async def with_boto3(_call: Call[Paint]) -> Painted:
    """Use boto3 in a function of the same module."""
    _in_own_module()
    return Painted(layers=1)


@activity.defn
async def with_subprocess(_call: Call[Paint]) -> Painted:
    """Run a program and wait for it."""
    subprocess.run(["true"], check=True)  # noqa: ASYNC221  (the mistake itself)
    return Painted(layers=1)


@activity.defn
async def with_smtp(_call: Call[Paint]) -> Painted:
    """Import a blocking package where it is used."""
    from email import message  # noqa: PLC0415  (an import that does not block)
    from smtplib import SMTP  # noqa: PLC0415  (the mistake itself)

    SMTP("localhost").send_message(message.Message())
    return Painted(layers=1)


@activity.defn
async def with_blocking_names_only(_call: Call[Paint]) -> Painted:
    """Use an exception and a constant of blocking packages, and block nothing."""
    try:
        return Painted(layers=abs(subprocess.PIPE))
    except smtplib.SMTPException:
        return Painted(layers=0)
