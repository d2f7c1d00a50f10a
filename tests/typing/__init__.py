"""Files that type checkers read; nothing runs them."""
