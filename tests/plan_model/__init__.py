"""Random plans over all tools, through random faults of their providers."""
