"""What any application's command line needs: start, watch, show and list sagas, exit codes, and a clean end."""

from rescind.cli._agent import agent_command
from rescind.cli._commands import operators
from rescind.cli._exit import ExitCode, Stopped, leave, run
from rescind.cli._input import checked, read_input
from rescind.cli._ledger import recorded
from rescind.cli._plan import plan_command
from rescind.cli._serve import serve
from rescind.cli._server import Server, connect, place, profile
from rescind.cli._start import Order, start
from rescind.cli._tools import tools_command

__all__ = [
    "ExitCode",
    "Order",
    "Server",
    "Stopped",
    "agent_command",
    "checked",
    "connect",
    "leave",
    "operators",
    "place",
    "plan_command",
    "profile",
    "read_input",
    "recorded",
    "run",
    "serve",
    "start",
    "tools_command",
]
