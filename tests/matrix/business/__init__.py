"""The failure matrix of the business tools: each fault of the sandbox on the call, crossed with each on the undo."""
