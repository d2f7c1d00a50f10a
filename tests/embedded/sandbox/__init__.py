"""Tests of the provider sandbox, over its own sockets."""
