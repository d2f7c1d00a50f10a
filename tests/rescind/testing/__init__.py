"""Tests of the laws and of the certificates."""
