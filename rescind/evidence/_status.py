"""What an HTTP status proves, whatever the client."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from rescind.evidence._core import NOTHING, REFUSED, UNKNOWN, Evidence


def proves_status(status: int, headers: Mapping[str, str]) -> Evidence:
    """What an answer that is no success proves: 4xx is a refusal, except where it says or may mean otherwise.

    Args:
        status: The status code. A 3xx proves nothing: 303 is what a server says after it has acted.
        headers: The answer's headers, in a mapping that takes names in lower case; Retry-After is read,
            in either of its forms.
    """
    wait = _retry_after(headers.get("retry-after"))
    if status in (425, 429):
        return NOTHING.after(wait)
    if status in (408, 409) or not 400 <= status < 500:
        return UNKNOWN.after(wait)
    return REFUSED


def _retry_after(value: str | None) -> float | None:
    """Seconds from now, or None where the header is missing or can't be read."""
    if value is None:
        return None
    if value.strip().isascii() and value.strip().isdigit():
        return float(value)
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (at.astimezone(UTC) - datetime.now(UTC)).total_seconds())
