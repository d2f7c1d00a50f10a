"""What happens at points of no return."""
