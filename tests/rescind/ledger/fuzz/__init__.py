"""Random interleavings of everything that works on a saga, against a real ledger and a small world."""
