"""The workflows of this application, each on a real server against the sandbox."""
