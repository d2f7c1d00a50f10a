"""What can go wrong with the stand-ins, said so that a person knows what to do."""

from pathlib import Path


class StandInError(Exception):
    """The stand-ins cannot do what was asked; nothing outside their own folder was touched."""


class AlreadyRunningError(StandInError):
    """Another process holds the stand-ins of this folder; they were left as they are."""

    def __init__(self, directory: Path, pid: int | None, web_ui: str | None) -> None:
        self.directory = directory
        self.pid = pid
        self.web_ui = web_ui
        where = f"its Web UI is {web_ui}" if web_ui else "it is still starting"
        super().__init__(
            f"The stand-ins in {directory} already run: process {pid or 'unknown'}, {where}. "
            f"Use them as they are, or end them with `python -m embedded down` and start again."
        )


class StandInFailedError(StandInError):
    """One of the servers did not come up; those that did have been stopped again."""

    def __init__(self, name: str, why: str, log: Path, *, ended: bool = True) -> None:
        self.name = name
        self.log = log
        self.ended = ended
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        said = "".join(f"\n    {line}" for line in _telling(lines))
        super().__init__(
            f"The stand-in {name!r} did not start: {why}. All stand-ins are stopped, their data is kept. "
            f"Its last lines in {log} are:{said or ' (nothing)'}"
        )


def _telling(lines: list[str]) -> list[str]:
    """The last twelve; a Go program's from its panic on, since what follows that is a long trace."""
    panics = [place for place, line in enumerate(lines) if line.startswith(("panic:", "fatal error:"))]
    return lines[panics[-1] :][:12] if panics else lines[-12:]


class NotLoopbackError(StandInError):
    """An address leads away from this machine; it was not contacted."""

    def __init__(self, name: str, address: str, why: str) -> None:
        self.name = name
        self.address = address
        super().__init__(
            f"{name} is {address}, and {why}. Stand-ins live on this machine only, so nothing was contacted. "
            f"Unset {name}, or run without the stand-ins if you mean the real system."
        )
