"""The saga that the shop gains: put all books of an order aside, or none."""

from dataclasses import dataclass

from temporalio import workflow

from rescind import Saga

from .shelf import PUT_ASIDE, PutAside


@dataclass
class Order:
    """Which books."""

    titles: list[str]


@workflow.defn
class PutOrderAside:
    """Put each book aside."""

    @workflow.run
    async def run(self, order: Order) -> list[str]:
        """All, or none."""
        async with Saga() as saga:
            books = [await saga.step(PUT_ASIDE, PutAside(title=title)) for title in order.titles]
            await saga.commit()
        return [book.title for book in books]
