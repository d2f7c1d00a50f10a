"""Prints a world for people."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from embedded.world._snapshot import World

MOST = 20  # rows shown of one list; the rest is counted


def listing(world: World) -> RenderableType:
    """Branches, buckets, tables, containers, messages, and what the business systems hold, as tables for Rich."""
    branches = [
        (alias, ref, target[:12]) for alias, refs in world.git.items() for ref, target in refs.items()
    ]
    objects = [
        (name, ", ".join(f"{key}={value}" for key, value in bucket.tags.items()), key or "", size)
        for name, bucket in world.buckets.items()
        for key, size in ([(key, str(one.size)) for key, one in bucket.objects.items()] or [("", "")])
    ]
    tables = [
        (alias, name, relation.kind, ", ".join(relation.columns), str(sum(relation.rows.values())))
        for alias, database in world.databases.items()
        for name, relation in database.relations.items()
    ]
    return Group(
        table("Branches", ("repository", "ref", "commit"), branches),
        table("Buckets", ("bucket", "tags", "object", "bytes"), objects),
        table("Tables", ("database", "name", "kind", "columns", "rows"), tables),
        table("Containers", ("where", "name", "image", "state"), deployed(world)),
        table("Machines", ("id", "name", "image", "state"), machines(world)),
        table("Files", ("file", "permissions and SHA-256"), list(world.files.items())),
        table("Messages", ("hook", "text"), [(one.hook, one.text) for one in world.messages]),
        table(
            "Sent for good", ("what", "to", "content"), [(one.kind, one.to, one.what) for one in world.sent]
        ),
        *business(world),
    )


def business(world: World) -> list[RenderableType]:
    """Orders, bookings, invoices and mails."""
    orders = [(name, one.status, one.customer, money(one.total)) for name, one in world.orders.items()]
    booked = [(name, one.what, one.who, money(one.price)) for name, one in world.bookings.items()]
    invoices = [
        (name, one.status, one.customer, money(one.total), money(one.amount_remaining))
        for name, one in world.invoices.items()
    ]
    mails = [(", ".join(one.recipients), one.subject, one.message_id) for one in world.mails]
    return [
        table("Orders", ("order", "status", "customer", "total"), orders),
        table("Bookings", ("booking", "what", "who", "price"), booked),
        table("Invoices", ("invoice", "status", "customer", "total", "to be paid"), invoices),
        table("Mails", ("to", "subject", "Message-ID"), mails),
    ]


def machines(world: World) -> list[tuple[str, ...]]:
    """EC2's machines that are not terminated."""
    return [(name, one.tags.get("Name", ""), one.image, one.state) for name, one in world.machines.items()]


def money(amount: int) -> str:
    """An amount in the smallest unit, as people write it."""
    return f"{amount / 100:.2f}"


def deployed(world: World) -> list[tuple[str, ...]]:
    """Docker's containers and ECS's services alike."""
    docker = [("Docker", name, one.image, one.state) for name, one in world.containers.items()]
    services = [
        (f"ECS {cluster}", name, images(world, one.task_definition), f"{one.status}, {one.desired} wanted")
        for cluster, found in world.clusters.items()
        for name, one in found.services.items()
    ]
    return [*docker, *services]


def images(world: World, task_definition: str) -> str:
    """The images of a task definition, after its name."""
    found = world.task_definitions.get(task_definition, {})
    return f"{task_definition} ({', '.join(found.values())})"


def table(title: str, headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> RenderableType:
    """One table, or a line that says that there is nothing."""
    if not rows:
        return Text(f"{title}: none")
    made = Table(title=title, title_justify="left")
    for heading in headings:
        made.add_column(heading, overflow="fold")
    for row in rows[:MOST]:
        made.add_row(*map(Text, row))
    if len(rows) > MOST:
        made.caption = f"and {len(rows) - MOST} more"
    return made
