"""Prints the failure matrix and writes docs/failure-matrix.md: `python -m tests.matrix [WORD ...]`.

With words only the cells whose names hold one of them are run, and nothing is written. RESCIND_SOAK=1 runs the
full product.
"""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from embedded import Stack, environment
from tests.matrix.bench import ROOT, Ended
from tests.matrix.cells import every, soak
from tests.matrix.engine import an_engine
from tests.matrix.run import Outcome, run_matrix
from tests.matrix.table import page, summary


def main(words: list[str]) -> int:
    """0 if all is as it should be."""
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="matrix-", ignore_cleanup_errors=True) as folder,
        an_engine() as (engine, why),
        Stack(Path(folder) / "stack", ui_port=0) as stack,
    ):
        cells = (soak if os.environ.get("RESCIND_SOAK") else every)(engine=engine is not None)
        if words:
            cells = [cell for cell in cells if any(word in cell.name for word in words)]
        outcome = asyncio.run(run_matrix(cells, _surroundings(stack), Path(folder), engine, _tell))
    text = page(outcome, without_engine=why)
    lines = [text, *_lines(outcome), f"{time.monotonic() - began:.0f} s", summary(outcome)]
    sys.stdout.write("\n".join(lines) + "\n")
    if not words:
        (ROOT / "docs" / "failure-matrix.md").write_text(text)
    return 1 if outcome.strays or any(verdict.problems for verdict in outcome.verdicts) else 0


def _surroundings(stack: Stack) -> dict[str, str]:
    """Of workers and of whoever looks; no sweeper mends what a saga leaves."""
    return environment(stack.description) | {"RESCIND_SWEEP_EVERY": "0"}


def _tell(ended: Ended) -> None:
    sys.stderr.write(f"{ended.seconds:6.1f} s  {ended.closed:<15} {ended.cell.name} {ended.trouble}\n")


def _lines(outcome: Outcome) -> Iterator[str]:
    for verdict in outcome.verdicts:
        ended = verdict.ended
        yield f"{ended.seconds:6.1f} s  {ended.closed:<15} {verdict.world:<20} {verdict.cell.name}"
    for verdict in outcome.verdicts:
        for problem in verdict.problems:
            yield f"{verdict.cell.title} [{verdict.cell.name}]: {problem}"
    yield from (f"of no saga: {stray}" for stray in outcome.strays)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
