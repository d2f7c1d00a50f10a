"""A bare git repository with one commit on `main`, independent of the user's git configuration."""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from embedded.errors import StandInError

NAME = "Rescind stand-in"
# A fixed author and time give the first commit the same id on every machine.
AUTHOR = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", NAME), ("EMAIL", "stand-in@localhost"), ("DATE", "2026-01-01T00:00:00Z"))
}


def create(directory: Path, environment: Mapping[str, str]) -> Path:
    """The path of `git/app.git`, made unless its branch `main` is there; raises if git is missing."""
    repository = directory / "git" / "app.git"
    if git(repository, environment, "rev-parse", "--verify", "--quiet", "refs/heads/main", check=False):
        return repository
    shutil.rmtree(repository, ignore_errors=True)
    repository.mkdir(parents=True)
    git(repository, environment, "init", "--quiet", "--bare", "--template=")
    git(repository, environment, "symbolic-ref", "HEAD", "refs/heads/main")
    readme = git(repository, environment, "hash-object", "-w", "--stdin", stdin="An application.\n")
    tree = git(repository, environment, "mktree", stdin=f"100644 blob {readme}\tREADME.md\n")
    commit = git(repository, environment, "commit-tree", tree, "-m", "Begin")
    git(repository, environment, "update-ref", "refs/heads/main", commit)
    return repository


def git(
    repository: Path, environment: Mapping[str, str], *words: str, stdin: str = "", check: bool = True
) -> str:
    """What git says on standard output, stripped; empty after a failure when `check` is off."""
    program = shutil.which("git", path=environment.get("PATH"))
    if program is None:
        raise StandInError("git is missing. Nothing was started. Install git (2.28 or newer).")
    command = [program, f"--git-dir={repository}", *words]
    done = subprocess.run(  # noqa: S603 - git, found above, with our own words
        command, input=stdin, env={**environment, **AUTHOR}, capture_output=True, text=True, check=False
    )
    if check and done.returncode:
        raise StandInError(f"`git {' '.join(words)}` failed in {repository}: {done.stderr.strip()}")
    return done.stdout.strip() if done.returncode == 0 else ""
