"""The scripts that docker-compose.yml mounts, run here against the stand-ins' real servers."""
