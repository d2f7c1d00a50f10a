"""The version of the ledger's schema that this program speaks."""

VERSION = 3
