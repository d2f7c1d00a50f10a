"""Prints the matrix and writes docs/failure-matrix-tools.md: `python -m tests.matrix.tools [WORD ...]`.

With words only the cells whose names hold one of them are run, and nothing is written. RESCIND_SOAK=1 runs the
full product.
"""

import asyncio
import logging
import os
import sys
import tempfile
from pathlib import Path

from embedded import Stack, environment
from tests.application import ROOT
from tests.matrix.engine import an_engine
from tests.matrix.tools.bench import run_cells
from tests.matrix.tools.cells import ordinary, soak
from tests.matrix.tools.table import page, summary
from tests.matrix.tools.verdict import judge_all


def main(words: list[str]) -> int:
    """0 if all is as it should be."""
    logging.getLogger("temporalio").setLevel(
        logging.CRITICAL
    )  # every fault is a failed attempt, told with its trace
    with (
        tempfile.TemporaryDirectory(prefix="matrix-", ignore_cleanup_errors=True) as folder,
        an_engine() as (engine, why_none),
        Stack(Path(folder) / "stack", ui_port=0) as stack,
    ):
        if why_none:
            sys.stderr.write(f"Without the cells of containers: {why_none}\n")
        cells = (soak if os.environ.get("RESCIND_SOAK") else ordinary)(engine=engine is not None)
        cells = [cell for cell in cells if not words or any(word in cell.name for word in words)]
        judged = judge_all(asyncio.run(run_cells(cells, environment(stack.description), engine)))
    text = page(judged)
    slowest = sorted(judged.verdicts, key=lambda verdict: -verdict.ended.seconds)[:5]
    lines = [f"{one.ended.seconds:6.1f} s  {one.end:<20} {one.ended.case.cell.name}" for one in slowest]
    lines = [text, *lines, *judged.problems, f"{judged.seconds:.0f} s", summary(judged)]
    sys.stdout.write("\n".join(lines) + "\n")
    if not words:
        (ROOT / "docs" / "failure-matrix-tools.md").write_text(text)
    return 1 if judged.problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
