"""Shows a running saga: a live table in a terminal, a line for each change elsewhere."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from rescind._record import StepReport
from rescind.cli._look import Look
from rescind.cli._tables import line, steps_table

_GOES_ON = "a worker answers; the saga goes on"


class Screen(Protocol):
    """Where looks at a saga are shown."""

    def show(self, look: Look) -> None:
        """Show what was seen last."""
        ...


@contextmanager
def screen(console: Console) -> Generator[Screen]:
    """A live table where the console is a terminal, else lines."""
    if not console.is_terminal:
        yield _Lines(console)
        return
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield _Table(live)


class _Table:
    def __init__(self, live: Live) -> None:
        self._live = live

    def show(self, look: Look) -> None:
        self._live.update(_picture(look), refresh=True)


class _Lines:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._said = {"trouble": _GOES_ON}

    def show(self, look: Look) -> None:
        for step in look.report.steps:
            self._say(step.step, _as_line(step, look))
        self._say("trouble", look.trouble or _GOES_ON)

    def _say(self, about: str, words: str) -> None:
        """Say it unless it was the last that was said about this."""
        if self._said.get(about) != words:
            self._said[about] = words
            self._console.print(Text(words), soft_wrap=True)


def _as_line(step: StepReport, look: Look) -> str:
    return line(step, look.remarks.get(step.step))


def _picture(look: Look) -> RenderableType:
    below = Text(f"\n{look.trouble}; the saga waits, nothing is lost", "yellow") if look.trouble else Text("")
    return Group(steps_table(look.report, look.remarks), below)
