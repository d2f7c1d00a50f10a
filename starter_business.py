"""The command line of the business agents: fulfil an order, book a trip."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NoReturn, Protocol

import typer
from pydantic import BaseModel, JsonValue

from rescind.cli import checked, read_input

QUEUE = Annotated[str, typer.Option(help="The task queue that the workers poll.")]
FILE = Annotated[Path | None, typer.Option(help="The whole input as JSON or YAML, instead of the options.")]
ID = Annotated[str | None, typer.Option(help="By default the command's name and that of the case.")]


class Begin(Protocol):
    """Starts a saga, follows it, and ends with its exit code."""

    def __call__(
        self, workflow: Any, wanted: BaseModel, words: str, workflow_id: str, task_queue: str, /
    ) -> NoReturn:
        """Words say to people what is begun."""
        ...


def business(app: typer.Typer, begin: Begin) -> None:
    """Give the application the commands `order` and `trip`."""

    @app.command("order")
    def fulfil(
        *,
        order: Annotated[str | None, typer.Option(help="The order's id in the CRM.")] = None,
        customer: Annotated[str | None, typer.Option(help="The customer's id at Stripe.")] = None,
        email: Annotated[str | None, typer.Option(help="Where the confirmation goes.")] = None,
        amount: Annotated[int | None, typer.Option(help="In the currency's smallest unit.")] = None,
        currency: Annotated[str, typer.Option(help="Stripe's code.")] = "eur",
        description: Annotated[str, typer.Option(help="What is bought.")] = "Your order",
        file: FILE = None,
        workflow_id: ID = None,
        task_queue: QUEUE = "rescind",
    ) -> None:
        """Fulfil an order: CRM status, invoice, confirmation by mail; all or nothing. Exit codes as `provision`."""
        from workflows.fulfil_order import CustomerOrder, FulfilOrder  # noqa: PLC0415  (as above)

        given = {"order": order, "customer": customer, "email": email, "amount": amount}
        plain = _given(given) | {"currency": currency, "description": description}
        wanted = (
            read_input(file, CustomerOrder)
            if file
            else checked(plain, CustomerOrder, source="The command line")
        )
        words = f"Fulfil {wanted.order}: status, invoice and mail, or nothing"
        begin(FulfilOrder.run, wanted, words, workflow_id or f"order-{wanted.order}", task_queue)

    @app.command("trip")
    def book(
        *,
        trip: Annotated[str | None, typer.Option(help="What the business calls the trip.")] = None,
        email: Annotated[str | None, typer.Option(help="Where the confirmation goes.")] = None,
        traveller: Annotated[str | None, typer.Option(help="Who travels.")] = None,
        flight: Annotated[str | None, typer.Option(help="The flight, such as LH123.")] = None,
        day: Annotated[
            str | None, typer.Option(help="Day of flight and arrival, such as 2026-11-30.")
        ] = None,
        hotel: Annotated[list[str] | None, typer.Option(help="A hotel; give several for several.")] = None,
        blind_hotel: Annotated[
            list[str] | None, typer.Option(help="The same, at the supplier that can't be asked afterwards.")
        ] = None,
        nights: Annotated[int, typer.Option(help="Nights in each hotel.")] = 1,
        file: FILE = None,
        workflow_id: ID = None,
        task_queue: QUEUE = "rescind",
    ) -> None:
        """Book a trip: flight, hotels in parallel, confirmation by mail; all or nothing. Exit codes as `provision`."""
        from workflows.book_trip import BookTrip, Trip  # noqa: PLC0415  (as above)

        stay = _given({"guest": traveller, "arrival": day, "nights": nights})
        plain: dict[str, JsonValue] = {
            **_given({"trip": trip, "email": email}),
            "flight": _given({"flight": flight, "day": day, "passenger": traveller}),
            "hotels": [stay | {"hotel": name} for name in hotel or ()],
            "blind_hotels": [stay | {"hotel": name} for name in blind_hotel or ()],
        }
        wanted = read_input(file, Trip) if file else checked(plain, Trip, source="The command line")
        words = f"Book {wanted.trip}: flight, hotels and mail, or nothing"
        begin(BookTrip.run, wanted, words, workflow_id or f"trip-{wanted.trip}", task_queue)


def _given(options: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The options that were given; the model says which are missing."""
    return {name: value for name, value in options.items() if value is not None}
