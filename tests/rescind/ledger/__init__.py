"""Tests of the effect ledger, each against a real PostgreSQL."""
