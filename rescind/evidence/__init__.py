"""What an error proves: whether this attempt took effect, and whether to try again.

One module for each kind of client: `aws` (boto3), `docker`, `http` (httpx), `postgres` (psycopg).
A tool names the one that fits in `Tool(proves=...)`; what none of them knows proves nothing.
"""

from rescind.evidence._core import (
    NOTHING,
    REFUSED,
    UNKNOWN,
    Conflict,
    Evidence,
    NothingHappened,
    Proves,
    Refused,
    Unproven,
    weigh,
)

__all__ = [
    "NOTHING",
    "REFUSED",
    "UNKNOWN",
    "Conflict",
    "Evidence",
    "NothingHappened",
    "Proves",
    "Refused",
    "Unproven",
    "weigh",
]
