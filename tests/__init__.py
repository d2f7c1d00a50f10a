"""Rescind's tests; they run against real servers."""
