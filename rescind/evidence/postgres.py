"""What psycopg's errors prove: PostgreSQL says by a code whether a transaction was rolled back.

Sources: the error codes of PostgreSQL's appendix A, and its protocol chapter on termination: an ERROR, at
COMMIT too, means that the transaction was rolled back; a lost connection means it only before COMMIT was sent.
"""

import psycopg

from rescind.evidence._core import NOTHING, REFUSED, Evidence

_MAY_SUCCEED_LATER = frozenset(
    {
        "25P03",  # idle_in_transaction_session_timeout
        "25P04",  # transaction_timeout
        "25006",  # read-only: a failover is under way
        "40001",  # serialization_failure
        "40P01",  # deadlock_detected
        "53000",
        "53100",  # disk_full
        "53200",  # out_of_memory
        "53300",  # too_many_connections
        "55006",  # object_in_use
        "55P03",  # lock_not_available
        "57014",  # query_canceled, by statement_timeout too
        "57P03",  # cannot_connect_now
    }
)

_PROVES_NOTHING_AT_COMMIT = frozenset({"40003", "57P01", "57P02", "57P04", "57P05"})
"""The server stops or says itself that it does not know; the commit may have been on the disk before."""

_FINAL_CLASSES = frozenset(
    {
        "0A",
        "0L",
        "0P",
        "21",
        "22",
        "23",
        "25",
        "26",
        "28",
        "2B",
        "2D",
        "3D",
        "3F",
        "40",
        "42",
        "44",
        "54",
        "P0",
    }
)


def proves(error: BaseException) -> Evidence | None:
    """What a psycopg error proves wherever in a transaction it came, COMMIT included; None is nothing."""
    state = error.sqlstate if isinstance(error, psycopg.Error) else None
    if state is None or state in _PROVES_NOTHING_AT_COMMIT:
        return None
    if state in _MAY_SUCCEED_LATER:
        return NOTHING
    return REFUSED if state[:2] in _FINAL_CLASSES else None


def proves_uncommitted(error: psycopg.Error) -> Evidence:
    """What a psycopg error proves when COMMIT was not sent: always that nothing happened."""
    return proves(error) or NOTHING
