"""Idempotency keys: what a key was answered with is answered again, and nothing is done twice."""

import hashlib
from typing import Any

from psycopg.types.json import Jsonb
from pydantic import BaseModel

from embedded.sandbox.answers import refused
from embedded.sandbox.storage import Connection, canonical


def digest_of(body: BaseModel) -> str:
    """Equal for equal requests."""
    return hashlib.sha256(canonical(body.model_dump(mode="json"))).hexdigest()


async def answered(connection: Connection, system: str, key: str, digest: str) -> dict[str, Any] | None:
    """What was answered to this key; None if the key is new, and then ours until the transaction ends.

    Another call with the same key is waited for. 410 for a key that was cancelled before, 422 for one that was used
    with another body.
    """
    cursor = await connection.execute(
        "insert into idempotency (system, key, digest) values (%s, %s, %s) on conflict do nothing "
        "returning true as new",
        (system, key, digest),
    )
    if await cursor.fetchone():
        return None
    cursor = await connection.execute(
        "select digest, answer from idempotency where (system, key) = (%s, %s)", (system, key)
    )
    row = await cursor.fetchone()
    if row is None or row["answer"] is None:
        raise refused(410, "cancelled_key", f"The key {key} was cancelled before. Nothing was done.")
    if row["digest"] != digest:
        raise refused(422, "key_reused", f"The key {key} was used with another body. Nothing was done.")
    answer: dict[str, Any] = row["answer"]
    return answer


async def keep_answer(connection: Connection, system: str, key: str | None, answer: dict[str, Any]) -> None:
    """Answer this key so from now on."""
    await connection.execute(
        "update idempotency set answer = %s where (system, key) = (%s, %s)", (Jsonb(answer), system, key)
    )
