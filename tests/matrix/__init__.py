"""The failure matrix: every step of the saga meets every trouble, and the outside world says how it ended."""
