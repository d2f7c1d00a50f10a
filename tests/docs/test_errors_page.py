"""The page on errors says what the code says, and each of its rows is produced by a real client."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from rescind.evidence import Proves, aws, docker, http, postgres, smtp, stripe, weigh
from tests.activities.postgres_world import server
from tests.docs.errors.elsewhere import GIT, POSTGRES, SMTP
from tests.docs.errors.over_http import BOTO3, DOCKER, HTTP, STRIPE

__all__ = ["server"]

PAGE = Path(__file__).parent.parent.parent / "docs/errors.md"
CLIENTS: Mapping[str, tuple[Mapping[str, Callable[..., BaseException]], Proves | None]] = {
    "HTTP (httpx)": (HTTP, http.proves),
    "Stripe (stripe)": (STRIPE, stripe.proves),
    "AWS (boto3)": (BOTO3, aws.proves),
    "SMTP (aiosmtplib)": (SMTP, smtp.proves),
    "PostgreSQL (psycopg)": (POSTGRES, postgres.proves),
    "Docker (docker)": (DOCKER, docker.proves),
    "git": (GIT, None),
}


def rows() -> list[tuple[str, str, str, str]]:
    """Each row of the page: the client, the error, what it shows about the attempt, and whether to try again."""
    found: list[tuple[str, str, str, str]] = []
    for section in PAGE.read_text().split("\n## ")[1:]:
        client = section.partition("\n")[0]
        if client not in CLIENTS:
            continue
        for line in re.findall(r"^\| (.+) \|$", section, re.MULTILINE):
            cells = [cell.strip() for cell in line.split(" | ")]
            if cells[0] != "error":
                found.append((client, cells[0], cells[1], cells[2]))
    return found


def test_every_error_has_its_row() -> None:
    """What is produced here and what is on the page is the same, client by client."""
    on_page = [(client, error) for client, error, *_ in rows()]
    assert sorted(on_page) == sorted(
        (client, error) for client, (known, _) in CLIENTS.items() for error in known
    )


@pytest.mark.parametrize(("client", "error", "shows", "again"), rows())
def test_a_row(client: str, error: str, shows: str, again: str, request: pytest.FixtureRequest) -> None:
    """The error of a real client at a real socket proves what the page says."""
    producers, proves = CLIENTS[client]
    given: list[Any] = []
    if client.startswith("PostgreSQL"):
        given = [f"{request.getfixturevalue('server')}/postgres"]
    evidence = weigh(producers[error](*given), proves)
    assert ("nothing happened" if evidence.nothing_happened else "unknown") == shows
    assert ("yes" if evidence.try_again else "no") == again.partition(",")[0]
    assert (evidence.retry_after == 7) == again.endswith("after 7 s")
