"""The failure matrix of single tools: each fault on the call, crossed with each on the undo."""
