"""Tests of the snapshots of the world."""
