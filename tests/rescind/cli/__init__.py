"""Tests of the commands that any application needs."""
