"""Makes the certificates anew: `python -m tests.certificates [folder]`."""

import asyncio
import sys
import tempfile
import time
from pathlib import Path

from embedded import Stack, environment
from tests.certificates.index import index
from tests.certificates.making import FOLDER, make


def say(*words: str) -> None:
    """Say it to whoever started this."""
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()


def main(folder: Path) -> int:
    """Check every tool on stand-ins of its own and write what was seen; 1 if a law is broken."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="rescind-") as directory, Stack(directory, ui_port=0) as stack:
        settings = environment(stack.description)
        began = time.monotonic()
        made = asyncio.run(make(settings))
    for each in made:
        each.write(folder)
        say(f"{each.file_name}: {each.grade.value}", *(f"\n  {law.law}: {law.why}" for law in each.failed))
    (folder / "README.md").write_text(index(folder), encoding="utf-8")
    say(f"{len(made)} certificates in {time.monotonic() - began:.0f} s")
    return int(any(each.failed for each in made))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER))
