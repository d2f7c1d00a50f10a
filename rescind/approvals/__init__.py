"""Approvals: a step that can't be undone waits for people, who say `approve` or `reject` by an Update."""

from rescind.approvals._words import Opinion, Verdict, approvals_for

__all__ = ["Opinion", "Verdict", "approvals_for"]
