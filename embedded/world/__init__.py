"""Full snapshots of everything outside: taken with the providers' own clients, compared value by value."""

from embedded.world._difference import difference
from embedded.world._listing import listing
from embedded.world._snapshot import World, snapshot

__all__ = ["World", "difference", "listing", "snapshot"]
