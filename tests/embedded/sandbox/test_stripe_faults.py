"""Every change at the Stripe stand-in with every fault, asked by Stripe's own client over a real socket."""

import asyncio

import pytest
import stripe

from embedded.sandbox.faults import Fault
from embedded.sandbox.operations import STRIPE
from tests.embedded.sandbox.servers import AS_STRIPE_DOES, Asking
from tests.embedded.sandbox.stripe_cases import CHANGES
from tests.embedded.sandbox.test_http_faults import GATED, until

pytestmark = AS_STRIPE_DOES

ERRORS: dict[Fault, type[stripe.StripeError]] = {
    Fault.REFUSE: stripe.PermissionError,
    Fault.UNAVAILABLE: stripe.APIError,
    Fault.THROTTLED: stripe.RateLimitError,
    Fault.DROP_BEFORE: stripe.APIConnectionError,
    Fault.ERROR_AFTER: stripe.APIError,
    Fault.DROP_AFTER: stripe.APIConnectionError,
    Fault.GARBAGE: stripe.APIError,
    Fault.NO_HTTP: stripe.APIConnectionError,
}


def test_every_change_has_its_case() -> None:
    """No change that has a name is left out of this file."""
    assert CHANGES.keys() == {name for name, (method, _) in STRIPE.items() if method != "GET"}


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault not in GATED])
async def test_a_fault_that_ends_the_call(ask: Asking, fault: Fault) -> None:
    """At every change the client meets the fault, and the effect is there if and only if the fault acts."""
    cases = {name: await prepare(ask) for name, prepare in CHANGES.items()}
    for name in CHANGES:
        await ask.plan(name, fault)
    answers = await asyncio.gather(*(one.call() for one in cases.values()), return_exceptions=True)
    for answer in answers:
        if fault in ERRORS:
            assert isinstance(answer, ERRORS[fault]), answer
            waits = (answer.headers or {}).get("retry-after") is not None
            assert waits == (fault in (Fault.UNAVAILABLE, Fault.THROTTLED))
        else:
            assert not isinstance(answer, BaseException), answer
    acts = fault.acts or fault is Fault.STALE
    assert [await one.effect() for one in cases.values()] == [acts] * len(cases)


@pytest.mark.parametrize("fault", GATED)
async def test_a_fault_that_waits(ask: Asking, fault: Fault) -> None:
    """Nothing is answered; the effect comes at once, after the client has gone, or never."""
    cases = {name: await prepare(ask) for name, prepare in CHANGES.items()}
    await ask.http.delete("/admin/calls")
    for name in CHANGES:
        await ask.plan(name, fault, seconds=0.1)
    calls = [asyncio.ensure_future(one.call()) for one in cases.values()]

    async def arrived() -> bool:
        return {one["operation"] for one in await ask.seen("stripe")} >= set(CHANGES)

    async def over() -> bool:
        return not any(one["under_way"] for one in await ask.seen("stripe"))

    async def as_told() -> bool:
        return [await one.effect() for one in cases.values()] == [fault.acts] * len(cases)

    await until(arrived)
    if fault is Fault.HANG_AFTER:
        await until(as_told)
    else:
        assert not any([await one.effect() for one in cases.values()])
    assert not any(call.done() for call in calls)
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    await until(over)
    assert await as_told()
