"""The digest that a seal compares; the same as standing_keys_digest in saga.sql."""

import hashlib
from collections.abc import Iterable


def seal_digest(keys: Iterable[str]) -> str:
    """The digest of a run's applied keys that `seal` compares with the keys on record, in any order."""
    ordered = sorted(key.encode() for key in set(keys))
    return hashlib.sha256(b"".join(b"%d:%b," % (len(key), key) for key in ordered)).hexdigest()
