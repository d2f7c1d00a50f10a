"""The demo's command line: `python -m demo` runs it, `python -m demo up` keeps everything running to look at."""

from demo.commands import app
from rescind.cli import run

if __name__ == "__main__":
    run(app)
