"""Approvals: a step that can't be undone waits for people, who say `approve` or `reject` by an Update."""

from rescind.approvals._words import NOT_APPROVED, Opinion, Verdict, approvals_for

__all__ = ["NOT_APPROVED", "Opinion", "Verdict", "approvals_for"]
