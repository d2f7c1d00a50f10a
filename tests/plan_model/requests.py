"""What a step of each tool asks for, sound or not: the requests of the model, by the name of the try."""

from dataclasses import dataclass
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


def create_branch(asked: Asked) -> Arguments:
    """A branch of main, or of nothing."""
    return {"remote": asked.token, "branch": asked.token, "from_ref": "main" if asked.sound else "nowhere"}


def put_object(asked: Asked) -> Arguments:
    """An object in a bucket that is there, or is not."""
    bucket = f"in-{asked.token}" if asked.sound else f"no-{asked.token}"
    return {"bucket": bucket, "key": asked.token, "body": asked.text}


def rename_table(asked: Asked) -> Arguments:
    """A new name for a table."""
    table = f"old {asked.token}" if asked.sound else f"no {asked.token}"
    return {"database": DATABASE, "table": table, "to": f"new {asked.token}"}


def add_column(asked: Asked) -> Arguments:
    """A column of a type that there is, or is not."""
    type_ = "text" if asked.sound else "nonsense"
    return {"database": DATABASE, "table": f"of {asked.token}", "column": asked.token, "type": type_}


def migrate(asked: Asked) -> Arguments:
    """A migration that makes a table, and may fail after that."""
    up = f'CREATE TABLE "{asked.token}" (name text PRIMARY KEY)'
    down = f'DROP TABLE "{asked.token}"'
    name = f"make {asked.token}"
    if not asked.sound:
        up += "; SELECT 1 / 0"
    return {"database": DATABASE, "name": name, "up": up, "down": down, "restores": "exact"}


def deploy_container(asked: Asked) -> Arguments:
    """A container on a network that there is, or is not."""
    return {
        "service": asked.token,
        "image": "rescind-demo:1",
        "network": "none" if asked.sound else "nowhere",
    }


def deploy_service(asked: Asked) -> Arguments:
    """A service on a cluster that there is, or is not."""
    cluster = CLUSTER if asked.sound else "nowhere"
    return {"cluster": cluster, "service": asked.token, "image": "shop:2", "launch_type": "EC2"}


def launch_machine(asked: Asked) -> Arguments:
    """A machine of an image that there is, or is not."""
    return {"name": asked.token, "image": IMAGE if asked.sound else "ami-00000000"}


def write_file(asked: Asked) -> Arguments:
    """A file in a folder that is there, or is not."""
    path = f"{asked.token}.txt" if asked.sound else f"nowhere/{asked.token}.txt"
    return {"folder": "plans", "path": path, "text": asked.text}


def create_invoice(asked: Asked) -> Arguments:
    """An invoice for a customer who is known, or is not."""
    customer = CUSTOMER if asked.sound else "cus_nobody"
    return {
        "customer": customer,
        "order": asked.token,
        "amount": 4200,
        "currency": "eur",
        "description": asked.text,
    }


def send_mail(asked: Asked) -> Arguments:
    """A mail that is corrected or left."""
    on_undo = "leave" if asked.there else "correct"
    return {"to": f"{asked.token}@example.com", "subject": "Plans", "text": asked.text, "on_undo": on_undo}


def book_flight(asked: Asked) -> Arguments:
    """A seat on a flight that has some, or has not."""
    flight, rate = "RC100" if asked.sound else "RC404", "flexible" if asked.there else "standard"
    return {"flight": flight, "day": "2027-01-10", "passenger": asked.token, "rate": rate}


def book_room(asked: Asked) -> Arguments:
    """A room of a hotel that has some, or has not."""
    hotel = "Plans" if asked.sound else "Full"
    return {"hotel": hotel, "guest": asked.token, "arrival": "2027-01-10", "nights": 2}


def transfer_money(asked: Asked) -> Arguments:
    """A transfer of money."""
    accounts: Arguments = {"source": "DE02100500000024290661", "target": "DE02300209000106531065"}
    return accounts | {"amount": 4200, "purpose": asked.text}


def alias(asked: Asked) -> str:
    """A webhook that the worker knows, or does not."""
    return "ops" if asked.sound else "nobody"
