"""The tools of the matrix, and what each side of each of them can meet at its provider."""

from enum import StrEnum

from embedded.sandbox.faults import Fault


class Subject(StrEnum):
    """A tool, by its name."""

    CRM = "crm.set_status"
    INVOICE = "billing.create_invoice"
    EMAIL = "email.send"
    FLIGHT = "flights.book"
    ROOM = "hotels.book"
    BLIND = "hotels.book_blind"
    SMS = "sms.send"
    TRANSFER = "payments.transfer"
    EVENT = "webhook.post"
    MACHINE = "vm.launch"
    OBJECT = "s3.put_object"
    TABLE = "postgres.rename_table"
    COLUMN = "postgres.add_column"
    FILE = "files.write"
    BRANCH = "git.create_branch"
    NEW_BUCKET = "s3.create_bucket"
    SCHEMA = "postgres.migrate"
    SERVICE = "ecs.deploy"
    CONTAINER = "container.deploy"
    NOTICE = "chat.notify"
    ORDER = "crm.find"
    BUCKET = "s3.find_bucket"
    READ_BRANCH = "git.find_branch"


class Side(StrEnum):
    """What the fault meets."""

    CALL = "call"
    UNDO = "undo"


GROUPS = {
    "Business systems": (
        *(Subject.CRM, Subject.INVOICE, Subject.EMAIL, Subject.FLIGHT, Subject.ROOM, Subject.BLIND),
    ),
    "What can't be taken back, approved beforehand": (
        *(Subject.SMS, Subject.TRANSFER, Subject.EVENT, Subject.NOTICE),
    ),
    "Machines, objects, tables and files": (
        *(Subject.MACHINE, Subject.OBJECT, Subject.TABLE, Subject.COLUMN, Subject.FILE),
    ),
    "The tools of ProvisionEnvironment": (
        *(Subject.BRANCH, Subject.NEW_BUCKET, Subject.SCHEMA, Subject.SERVICE, Subject.CONTAINER),
    ),
    "Reads": (Subject.ORDER, Subject.BUCKET, Subject.READ_BRANCH),
}
FOR_GOOD = GROUPS["What can't be taken back, approved beforehand"]
READS = GROUPS["Reads"]
DATABASE = (Subject.TABLE, Subject.COLUMN, Subject.SCHEMA)
GIT = (Subject.BRANCH, Subject.READ_BRANCH)
AT_MOST_ONCE = (Subject.BLIND, Subject.EVENT, Subject.NOTICE)
"""What is never sent again where the first attempt may have taken effect."""

OPERATIONS: dict[tuple[Subject, Side], str] = {
    (Subject.CRM, Side.CALL): "crm.change",
    (Subject.CRM, Side.UNDO): "crm.change",
    (Subject.INVOICE, Side.CALL): "stripe.create_invoice",
    (Subject.INVOICE, Side.UNDO): "stripe.void_invoice",
    (Subject.FLIGHT, Side.CALL): "flights.book",
    (Subject.FLIGHT, Side.UNDO): "flights.cancel_key",
    (Subject.ROOM, Side.CALL): "hotels.book",
    (Subject.ROOM, Side.UNDO): "hotels.cancel_key",
    (Subject.BLIND, Side.CALL): "blind.book",
    (Subject.BLIND, Side.UNDO): "blind.cancel",
    (Subject.SMS, Side.CALL): "sms.send",
    (Subject.TRANSFER, Side.CALL): "payments.transfer",
    (Subject.EVENT, Side.CALL): "webhook.post",
    (Subject.MACHINE, Side.CALL): "aws.ask",
    (Subject.MACHINE, Side.UNDO): "aws.ask",
    (Subject.OBJECT, Side.CALL): "aws.put",
    (Subject.OBJECT, Side.UNDO): "aws.put",
    (Subject.NEW_BUCKET, Side.CALL): "aws.put",
    (Subject.NEW_BUCKET, Side.UNDO): "aws.delete",
    (Subject.SERVICE, Side.CALL): "aws.ask",
    (Subject.SERVICE, Side.UNDO): "aws.ask",
    (Subject.CONTAINER, Side.CALL): "engine.create",
    (Subject.CONTAINER, Side.UNDO): "engine.remove",
    (Subject.NOTICE, Side.CALL): "chat.post",
    (Subject.ORDER, Side.CALL): "crm.get",
    (Subject.BUCKET, Side.CALL): "aws.get",
}
STALE_READS: dict[tuple[Subject, Side], str] = {
    (Subject.CRM, Side.CALL): "crm.get",
    (Subject.CRM, Side.UNDO): "crm.get",
    (Subject.INVOICE, Side.UNDO): "stripe.get_invoice",
    (Subject.FLIGHT, Side.UNDO): "flights.find",
    (Subject.ROOM, Side.UNDO): "hotels.find",
    (Subject.MACHINE, Side.UNDO): "aws.ask",
    (Subject.ORDER, Side.CALL): "crm.get",
}
"""Reads of a side that may be stale; S3 promises that its own never are."""

_AT_A_DATABASE = (
    *(Fault.REFUSE, Fault.UNAVAILABLE, Fault.HANG, Fault.ERROR_AFTER, Fault.DROP_AFTER, Fault.HANG_AFTER),
    *(Fault.LATE, Fault.GARBAGE),
)
"""What a server of PostgreSQL can do: it has no words for too many calls, and its answers have no size."""

_AT_GIT = _AT_A_DATABASE
"""A git server is told from the outside what a push does, and can do the same."""

_AT_A_DISK = (Fault.REFUSE, Fault.UNAVAILABLE, Fault.HANG, Fault.ERROR_AFTER, Fault.HANG_AFTER, Fault.LATE)
"""What a file system can do: it refuses, is full, stands still, or has an error when the file is in place already."""

LASTING_IN_SHORT = (Fault.UNAVAILABLE, Fault.DROP_AFTER, Fault.HANG, Fault.LATE)
"""In the ordinary run these are met every time, since each such call waits out all of its tries."""


def faults(tool: Subject, side: Side) -> list[Fault]:
    """What one side of a tool can meet once; a mail's faults are met at its commands instead."""
    if side is Side.UNDO and tool in (*FOR_GOOD, *READS):
        return []
    if tool in DATABASE:
        return list(_AT_A_DATABASE)
    if tool in GIT:
        return list(_AT_GIT)
    if tool is Subject.FILE:
        return list(_AT_A_DISK)
    return [fault for fault in Fault if fault is not Fault.STALE or (tool, side) in STALE_READS]


def lasting(tool: Subject, side: Side) -> list[Fault]:
    """What it can meet every time; where the first one is not tried again that is no other case."""
    if tool in AT_MOST_ONCE and side is Side.CALL:
        return [Fault.THROTTLED]
    harmless = (Fault.STALE, Fault.HUGE)
    return [fault for fault in faults(tool, side) if fault not in harmless]


def lasting_in_short(tool: Subject) -> tuple[Fault, ...]:
    """Of those that a call can meet every time the ones for the ordinary run: eight tries that hang take a minute."""
    slow = (Subject.MACHINE, Subject.SERVICE, Subject.CONTAINER)
    return (Fault.UNAVAILABLE, Fault.DROP_AFTER) if tool in slow else LASTING_IN_SHORT
