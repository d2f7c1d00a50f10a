"""Tests of what the unwinding could not finish by itself."""
