"""Undo after the fact, the sweeper, reset and late starts."""
