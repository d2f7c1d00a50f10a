"""The demo: three agents in real systems, to success and to failures at their steps, and the world compared."""
