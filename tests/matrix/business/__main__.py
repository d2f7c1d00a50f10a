"""Prints the matrix and writes docs/failure-matrix-business.md: `python -m tests.matrix.business [WORD ...]`.

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
from tests.matrix.business.bench import run_cells
from tests.matrix.business.cells import ordinary, soak
from tests.matrix.business.table import page, summary
from tests.matrix.business.verdict import judge_all


def main(words: list[str]) -> int:
    """0 if all is as it should be."""
    logging.getLogger("temporalio").setLevel(
        logging.CRITICAL
    )  # every fault is a failed attempt, told with its trace
    cells = (soak if os.environ.get("RESCIND_SOAK") else ordinary)()
    if words:
        cells = [cell for cell in cells if any(word in cell.name for word in words)]
    with (
        tempfile.TemporaryDirectory(prefix="matrix-", ignore_cleanup_errors=True) as folder,
        Stack(Path(folder) / "stack", ui_port=0) as stack,
    ):
        judged = judge_all(asyncio.run(run_cells(cells, environment(stack.description))))
    text = page(judged)
    slowest = sorted(judged.verdicts, key=lambda verdict: -verdict.ended.seconds)[:5]
    lines = [f"{one.ended.seconds:6.1f} s  {one.end:<20} {one.ended.case.cell.name}" for one in slowest]
    lines = [text, *lines, *judged.problems, f"{judged.seconds:.0f} s", summary(judged)]
    sys.stdout.write("\n".join(lines) + "\n")
    if not words:
        (ROOT / "docs" / "failure-matrix-business.md").write_text(text)
    return 1 if judged.problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
