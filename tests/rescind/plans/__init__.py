"""Tests of the catalogue's export, of plans and their check, and of the workflow that runs them."""
