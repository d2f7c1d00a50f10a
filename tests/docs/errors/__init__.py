"""Errors of real clients at real sockets: for each row of docs/errors.md the code that produces it."""
