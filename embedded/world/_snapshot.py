"""One value that holds everything of the outside world that a saga could have changed."""

import json
import threading
from collections.abc import Collection, Mapping

from pydantic import BaseModel, ConfigDict

from embedded.environment import only, require_stand_ins
from embedded.world._aws import Bucket, EcsCluster, Machine, buckets, clusters, machines, task_definitions
from embedded.world._database import Database, database
from embedded.world._docker import Container, containers
from embedded.world._files import files
from embedded.world._providers import (
    Booking,
    Invoice,
    Mail,
    Order,
    Sent,
    bookings,
    invoices,
    mails,
    orders,
    sent,
)
from embedded.world._repositories import Message, messages, references

# The environment belongs to the whole process, so two snapshots at once would undo each other's swap.
ONE_AT_A_TIME = threading.Lock()


class World(BaseModel):
    """What was outside at one moment; two are equal if nothing differs."""

    model_config = ConfigDict(frozen=True)
    git: dict[str, dict[str, str]]
    buckets: dict[str, Bucket]
    databases: dict[str, Database]
    containers: dict[str, Container]
    clusters: dict[str, EcsCluster]
    task_definitions: dict[str, dict[str, str]]
    messages: list[Message]
    orders: dict[str, Order]
    bookings: dict[str, Booking]
    invoices: dict[str, Invoice]
    mails: list[Mail]
    machines: dict[str, Machine]
    sent: list[Sent]
    files: dict[str, str]


def snapshot(environment: Mapping[str, str], *, without_schemas: Collection[str] = ()) -> World:
    """The world behind the addresses of `environment`, as `embedded.environment()` gives them.

    Raises `NotLoopbackError` before it asks anything if an address leads away from this machine, and the
    client's own error if a provider does not answer. `without_schemas` names schemas of the databases to leave
    out. While it runs, `os.environ` holds nothing but `environment`. The providers are read one after another,
    so take it when nothing moves.
    """
    require_stand_ins(environment)
    databases: dict[str, str] = json.loads(environment["RESCIND_DATABASES"])
    remotes: dict[str, str] = json.loads(environment["RESCIND_GIT_REMOTES"])
    with ONE_AT_A_TIME, only(environment):
        return World(
            git={alias: references(remote, environment) for alias, remote in remotes.items()},
            buckets=buckets(environment),
            databases={alias: database(dsn, without_schemas) for alias, dsn in databases.items()},
            containers=containers(environment),
            clusters=clusters(environment),
            task_definitions=task_definitions(environment),
            messages=messages(environment),
            orders=orders(environment),
            bookings=bookings(environment),
            invoices=invoices(environment),
            mails=mails(environment),
            machines=machines(environment),
            sent=sent(environment),
            files=files(environment),
        )
