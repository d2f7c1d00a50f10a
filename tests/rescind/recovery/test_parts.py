"""Which steps used what another one made."""

from dataclasses import dataclass

import pytest
from pydantic import JsonValue

from rescind.recovery._parts import with_dependents


@dataclass(frozen=True)
class Done:
    """A step as it is known to the ledger."""

    key: str
    request: JsonValue
    result: JsonValue


BRANCH = Done(
    "branch", {"branch": "env/x", "remote": "app"}, {"branch": "env/x", "commit": "4f16223a", "n": 1}
)
BUCKET = Done("bucket", {"bucket": "env-x"}, {"bucket": "env-x", "region": "eu"})
OBJECT = Done("object", {"bucket": "env-x", "key": "readme"}, {"etag": "9a7b"})
DEPLOY = Done("deploy", {"image": "app@4f16223a"}, {"url": "https://x.example/7100"})
NOTICE = Done("notice", {"text": "It is at https://x.example/7100, have a look"}, {"id": 88123})
LATER = Done("later", {"thread": [{"id": 88123}]}, {})
SAGA = [BRANCH, BUCKET, OBJECT, DEPLOY, NOTICE, LATER]


@pytest.mark.parametrize(
    ("step", "found"),
    [
        ("branch", ["branch", "deploy", "notice", "later"]),
        ("bucket", ["bucket", "object"]),
        ("object", ["object"]),
        ("deploy", ["deploy", "notice", "later"]),
        ("later", ["later"]),
    ],
)
def test_dependents(step: str, found: list[str]) -> None:
    """Those that name a value of its result are found, and those that name a value of theirs."""
    assert with_dependents(SAGA, step) == found


def test_values_that_point_at_nothing() -> None:
    """Short strings, small numbers, truth values and what was known before the step bind nothing."""
    first = Done("first", {"world": "production"}, {"id": 17})
    second = Done(
        "second", {"name": "b"}, {"world": "production", "ok": True, "size": 17, "unit": "kB", "no": None}
    )
    third = Done("third", {"world": "production", "size": 17, "unit": "kB", "ok": True, "also": "True"}, {})
    assert with_dependents([first, second, third], "second") == ["second"]


def test_part_of_a_longer_word() -> None:
    """A value inside of another word does not count: env-x is not env-x2."""
    other = Done("other", {"bucket": "env-x2", "path": "my-env-x"}, {})
    assert with_dependents([BUCKET, other], "bucket") == ["bucket"]
