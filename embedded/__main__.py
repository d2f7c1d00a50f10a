"""The command line of the stand-ins: up, world, down, and two of the servers themselves."""

from embedded.commands import app

if __name__ == "__main__":
    app()
