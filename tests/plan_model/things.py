"""The outside world as single things, each of one try of one plan; it knows nothing of tools and of Rescind."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import httpx
import stripe

from embedded.world import World
from embedded.world._difference import leaves

TOKEN = re.compile(r"p[0-9a-f]{6}n\d+s\d+t\d+x")
"""The name of one try: of a run, a plan in it, a step and a try."""


@dataclass(frozen=True)
class Change:
    """One thing that came (`+`), went (`-`) or changed (`~`), and what it is now, or was, in JSON."""

    sign: str
    place: str
    value: str

    @property
    def part(self) -> str:
        """The sign with the part of the world."""
        return self.sign + self.place.partition(" / ")[0]


def things(world: World) -> dict[str, str]:
    """Everything by its place in the world; a mail that came twice with one Message-ID is one mail."""
    plain = world.model_dump()
    plain["mails"] = {each["message_id"]: each for each in plain["mails"]}
    plain["sent"], plain["messages"] = _numbered(plain["sent"]), _numbered(plain["messages"])
    found: dict[str, dict[str, Any]] = {}
    for path, value in leaves(plain, ()):
        if value in ({}, []):
            continue  # what has nothing in it is no thing
        depth = _depth(path)
        found.setdefault(" / ".join(path[:depth]), {})[" / ".join(path[depth:])] = value
    return {place: json.dumps(value) for place, value in found.items()}


def _numbered(listed: list[Any]) -> dict[str, Any]:
    """What is alike and has no name of its own, by number: the list itself may grow in the middle."""
    seen: Counter[str] = Counter()
    found: dict[str, Any] = {}
    for each in listed:
        text = json.dumps(each)
        seen[text] += 1
        found[f"{text} {seen[text]}"] = each
    return found


def _depth(path: tuple[str, ...]) -> int:
    """How many names lead to one thing: objects, relations and services are things of their own."""
    match path:
        case ("git", *_):
            return 3
        case ("databases" | "buckets" | "clusters", _, "relations" | "objects" | "services", _, *_):
            return 4
        case _:
            return 2


def changes(before: World, after: World) -> dict[str, list[Change]]:
    """All that is different, by token; what is of no try has the empty one."""
    old, new = things(before), things(after)
    found: dict[str, list[Change]] = {}
    for place in sorted(old.keys() | new.keys()):
        if old.get(place) != new.get(place):
            sign = "~" if place in old and place in new else "+" if place in new else "-"
            change = Change(sign, place, new.get(place) or old[place])
            whose = TOKEN.search(f"{place} {change.value}")
            found.setdefault(whose.group() if whose else "", []).append(change)
    return found


def made(environment: dict[str, str]) -> Counter[str]:
    """How often each token's effect was ever made, with what was cancelled, voided or terminated since."""
    return Counter(whose.group() for text in _ever(environment) if (whose := TOKEN.search(text)) is not None)


def _ever(environment: dict[str, str]) -> Iterator[str]:
    for variable, path in (
        ("RESCIND_FLIGHTS_URL", "/bookings"),
        ("RESCIND_HOTELS_URL", "/bookings"),
        ("RESCIND_SANDBOX_ADMIN_URL", "/blind/bookings"),
    ):
        for each in httpx.get(environment[variable] + path, trust_env=False, timeout=30).json():
            yield str(each.get("passenger") or each.get("guest"))
    client = stripe.StripeClient(
        environment["RESCIND_STRIPE_API_KEY"], base_addresses={"api": environment["RESCIND_STRIPE_API_BASE"]}
    )
    for invoice in client.v1.invoices.list({"limit": 100}).auto_paging_iter():
        yield json.dumps(invoice.to_dict()["metadata"])
    ec2 = boto3.Session().client("ec2", endpoint_url=environment["RESCIND_EC2_ENDPOINT"])
    for reserved in ec2.describe_instances()["Reservations"]:
        for each in reserved.get("Instances", []):
            yield json.dumps(each.get("Tags", []))
