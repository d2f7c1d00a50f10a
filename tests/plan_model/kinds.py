"""What a step of each tool asks for, gives, shows in the world, and where its call and its undo can go wrong."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from pydantic import JsonValue

CLUSTER = "plans"
DATABASE = "plans"
CUSTOMER = "CUSTOMER"
"""Stands for the customer of the run, whom Stripe numbers."""
IMAGE = "AMI"
"""Stands for the machines' image."""

Arguments: TypeAlias = dict[str, JsonValue]


@dataclass(frozen=True)
class Met:
    """Where calls meet their faults.

    Attributes:
        provider: `sandbox`, or the name of a proxy.
        operation: The sandbox's operation, or a regular expression for the proxy; `{t}` stands for the try's token.
        mark: The text by which the sandbox knows the call; `{key}` is the call's key and `{undo}` its undo's.
    """

    provider: str
    operation: str
    mark: str = "{t}"


@dataclass(frozen=True)
class Asked:
    """What one step is to ask for.

    Attributes:
        token: The name of the try, by which all that comes of it is known in the world.
        text: A text that begins with the token.
        sound: Whether the provider has all that is asked for.
        there: Whether there is something already that is changed.
    """

    token: str
    text: JsonValue
    sound: bool
    there: bool


@dataclass(frozen=True)
class Kind:
    """One tool as plans use it.

    Attributes:
        tool: Its name.
        arguments: Its request.
        shows: What the world shows of one success: a sign (`+` came, `-` went, `~` changed) and a part of the world.
        over: The same where something was there already; None where nothing can be.
        gives: Fields of its result that can stand in a text; a name that ends in `?` may be null.
        takes: Arguments that may come from an earlier step's result, as `tool.field`.
        text: The argument whose text, or its hash, is to be seen in the world.
        do: Where the call meets faults.
        undo: Where the undo does.
        is_final: Whether it can't be undone.
    """

    tool: str
    arguments: Callable[[Asked], Arguments]
    shows: tuple[str, ...] = ()
    over: tuple[str, ...] | None = None
    gives: tuple[str, ...] = ()
    takes: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    text: str = ""
    do: Met | None = None
    undo: Met | None = None
    is_final: bool = False


def _branch(asked: Asked) -> Arguments:
    return {"remote": asked.token, "branch": asked.token, "from_ref": "main" if asked.sound else "nowhere"}


def _object(asked: Asked) -> Arguments:
    bucket = f"in-{asked.token}" if asked.sound else f"no-{asked.token}"
    return {"bucket": bucket, "key": asked.token, "body": asked.text}


def _rename(asked: Asked) -> Arguments:
    table = f"old {asked.token}" if asked.sound else f"no {asked.token}"
    return {"database": DATABASE, "table": table, "to": f"new {asked.token}"}


def _column(asked: Asked) -> Arguments:
    type_ = "text" if asked.sound else "nonsense"
    return {"database": DATABASE, "table": f"of {asked.token}", "column": asked.token, "type": type_}


def _migration(asked: Asked) -> Arguments:
    up = f'CREATE TABLE "{asked.token}" (name text PRIMARY KEY)'
    down = f'DROP TABLE "{asked.token}"'
    name = f"make {asked.token}"
    if not asked.sound:
        up += "; SELECT 1 / 0"
    return {"database": DATABASE, "name": name, "up": up, "down": down, "restores": "exact"}


def _container(asked: Asked) -> Arguments:
    return {"service": asked.token, "image": "rescind-demo:1", "network": "none" if asked.sound else "nowhere"}


def _service(asked: Asked) -> Arguments:
    cluster = CLUSTER if asked.sound else "nowhere"
    return {"cluster": cluster, "service": asked.token, "image": "shop:2", "launch_type": "EC2"}


def _machine(asked: Asked) -> Arguments:
    return {"name": asked.token, "image": IMAGE if asked.sound else "ami-00000000"}


def _file(asked: Asked) -> Arguments:
    path = f"{asked.token}.txt" if asked.sound else f"nowhere/{asked.token}.txt"
    return {"folder": "plans", "path": path, "text": asked.text}


def _invoice(asked: Asked) -> Arguments:
    customer = CUSTOMER if asked.sound else "cus_nobody"
    return {
        "customer": customer,
        "order": asked.token,
        "amount": 4200,
        "currency": "eur",
        "description": asked.text,
    }


def _mail(asked: Asked) -> Arguments:
    on_undo = "leave" if asked.there else "correct"
    return {"to": f"{asked.token}@example.com", "subject": "Plans", "text": asked.text, "on_undo": on_undo}


def _flight(asked: Asked) -> Arguments:
    flight, rate = "RC100" if asked.sound else "RC404", "flexible" if asked.there else "standard"
    return {"flight": flight, "day": "2027-01-10", "passenger": asked.token, "rate": rate}


def _room(asked: Asked) -> Arguments:
    hotel = "Plans" if asked.sound else "Full"
    return {"hotel": hotel, "guest": asked.token, "arrival": "2027-01-10", "nights": 2}


def _transfer(asked: Asked) -> Arguments:
    accounts: Arguments = {"source": "DE02100500000024290661", "target": "DE02300209000106531065"}
    return accounts | {"amount": 4200, "purpose": asked.text}


def _alias(asked: Asked) -> str:
    return "ops" if asked.sound else "nobody"


_BOOKING = ("booking", "price", "currency")

KINDS: dict[str, Kind] = {
    each.tool: each
    for each in (
        Kind(
            "git.create_branch",
            _branch,
            ("+git", "+git", "+git"),  # the branch, its marker, and what that stands for
            gives=("branch", "commit"),
            do=Met("git", "create"),
            undo=Met("git", "delete"),
        ),
        Kind(
            "s3.create_bucket",
            lambda asked: {"bucket": asked.token if asked.sound else f"in-{asked.token}"},
            ("+buckets",),
            gives=("bucket", "region"),
            do=Met("s3", r"^PUT /{t}/?(\?tagging)?$"),
            undo=Met("s3", r"^DELETE /{t}/?$"),
        ),
        Kind(
            "s3.put_object",
            _object,
            ("+buckets",),
            ("~buckets",),
            gives=("key", "etag", "version_id?"),
            takes={"bucket": ("s3.create_bucket.bucket",)},
            text="body",
            do=Met("s3", r"^PUT /[^/]+/{t}(\?|$)"),
            undo=Met("s3", r"^DELETE /[^/]+/{t}(\?|$)"),
        ),
        Kind(
            "postgres.rename_table",
            _rename,
            ("-databases", "+databases"),
            gives=("oid", "definition"),
            do=Met("postgres", r'rename\s+to\s+"new {t}"'),
            undo=Met("postgres", r'rename\s+to\s+"old {t}"'),
        ),
        Kind(
            "postgres.add_column",
            _column,
            ("~databases",),
            gives=("number", "definition"),
            do=Met("postgres", r'add\s+column\s+"{t}"'),
            undo=Met("postgres", r'drop\s+column\s+"{t}"'),
        ),
        Kind(
            "postgres.migrate",
            _migration,
            ("+databases",),
            gives=("name",),
            do=Met("postgres", r'create\s+table\s+"{t}"'),
            undo=Met("postgres", r'drop\s+table\s+"{t}"'),
        ),
        Kind(
            "container.deploy",
            _container,
            ("+containers",),
            gives=("id", "name", "previous?"),
            do=Met("docker", r"^POST \S*/containers/create\?(.*&)?name={t}-"),
        ),
        Kind(
            "ecs.deploy",
            _service,
            ("+clusters", "+task_definitions"),
            ("~clusters", "+task_definitions"),
            gives=("service", "task_definition", "previous?"),
            do=Met("ecs", r'\.(RegisterTaskDefinition|CreateService) .*"{t}"'),
            undo=Met("ecs", r'\.(DeregisterTaskDefinition|DeleteService) .*{t}'),
        ),
        Kind(
            "chat.notify",
            lambda asked: {"webhook": _alias(asked), "text": asked.text},
            ("+messages",),
            gives=("webhook",),
            text="text",
            do=Met("sandbox", "chat.post"),
            is_final=True,
        ),
        Kind(
            "crm.set_status",
            lambda asked: {
                "order": asked.token if asked.sound else f"no-{asked.token}",
                "status": "confirmed",
            },
            ("~orders",),
            gives=("order", "status", "was"),
            do=Met("sandbox", "crm.change", "{key}"),
            undo=Met("sandbox", "crm.change", '{t}\n{"status":"pending"'),
        ),
        Kind(
            "billing.create_invoice",
            _invoice,
            ("+invoices",),
            gives=("invoice", "number?", "status"),
            takes={"amount": ("flights.book.price", "hotels.book.price", "payments.transfer.amount")},
            do=Met("sandbox", "stripe.create_invoice"),
            undo=Met("sandbox", "stripe.void_invoice", ""),
        ),
        Kind(
            "email.send",
            _mail,
            ("+mails",),
            gives=("message_id", "to"),
            text="text",
            do=Met("sandbox", "mail.end", "{key}"),
            undo=Met("sandbox", "mail.end", "{undo}"),
        ),
        Kind(
            "flights.book",
            _flight,
            ("+bookings",),
            gives=("flight", *_BOOKING),
            do=Met("sandbox", "flights.book"),
            undo=Met("sandbox", "flights.cancel_key", "{key}"),
        ),
        Kind(
            "hotels.book",
            _room,
            ("+bookings",),
            gives=("hotel", *_BOOKING),
            do=Met("sandbox", "hotels.book"),
            undo=Met("sandbox", "hotels.cancel_key", "{key}"),
        ),
        Kind(
            "hotels.book_blind",
            _room,
            ("+bookings",),
            gives=("hotel", *_BOOKING),
            do=Met("sandbox", "blind.book"),
            undo=Met("sandbox", "blind.cancel", ""),
        ),
        Kind(
            "vm.launch",
            _machine,
            ("+machines",),
            gives=("instance", "address?"),
            do=Met("ec2", r"Action=RunInstances\b.*{t}"),
            undo=Met("ec2", r"Action=TerminateInstances\b"),
        ),
        Kind("files.write", _file, ("+files",), ("~files",), gives=("path", "sha256"), text="text"),
        Kind(
            "webhook.post",
            lambda asked: {"webhook": _alias(asked), "event": "plan.done", "data": {"text": asked.text}},
            ("+sent",),
            gives=("webhook", "status"),
            do=Met("sandbox", "webhook.post"),
            is_final=True,
        ),
        Kind(
            "sms.send",
            lambda asked: {"to": "+491700000001", "text": asked.text},
            ("+sent",),
            gives=("message", "to"),
            text="text",
            do=Met("sandbox", "sms.send"),
            is_final=True,
        ),
        Kind(
            "payments.transfer",
            _transfer,
            ("+sent",),
            gives=("transfer", "amount", "currency"),
            text="purpose",
            do=Met("sandbox", "payments.transfer"),
            is_final=True,
        ),
        Kind(
            "crm.find",
            lambda asked: {"order": asked.token if asked.sound else f"no-{asked.token}"},
            gives=("order", "status", "customer", "email", "total", "currency"),
            takes={"order": ("crm.set_status.order",)},
            do=Met("sandbox", "crm.get"),
        ),
        Kind(
            "git.find_branch",
            lambda asked: {"remote": asked.token, "branch": "main" if asked.sound else "nowhere"},
            gives=("branch", "commit"),
        ),
        Kind(
            "s3.find_bucket",
            lambda asked: {"bucket": f"in-{asked.token}" if asked.sound else f"no-{asked.token}"},
            gives=("bucket", "region"),
            takes={"bucket": ("s3.create_bucket.bucket",)},
        ),
    )
}
