"""What the shop did before: greet a customer, with a timer and a signal."""

from dataclasses import dataclass
from datetime import timedelta

from temporalio import activity, workflow


@dataclass
class Customer:
    """Who is greeted."""

    name: str
    visits: int


@activity.defn
async def greet(customer: Customer) -> str:
    """Find the words."""
    return f"hello {customer.name}, for the {customer.visits}th time"


@workflow.defn
class GreetCustomer:
    """Greet once the door is open."""

    def __init__(self) -> None:
        self._open = False

    @workflow.run
    async def run(self, customer: Customer) -> str:
        """Wait for the door, then greet."""
        await workflow.wait_condition(lambda: self._open)
        await workflow.sleep(timedelta(milliseconds=10))
        return await workflow.execute_activity(greet, customer, start_to_close_timeout=timedelta(seconds=10))

    @workflow.signal
    def open_door(self) -> None:
        """Let them in."""
        self._open = True
