"""Tests of the tools, each against a real server of its system."""
