"""What the Dockerfile promises, read from the file, since its base image can't be pulled everywhere."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
LINES = (ROOT / "Dockerfile").read_text().splitlines()


def test_the_base_image_is_pinned() -> None:
    """Both stages begin with the same version of Python."""
    bases = {line.split()[1] for line in LINES if line.startswith("FROM ")}
    assert len(bases) == 1
    assert re.match(r"^python:\d+\.\d+\.\d+-slim-[a-z]+$", bases.pop())


def test_the_image_finds_all_that_it_copies() -> None:
    """Each file that the Dockerfile copies is in the repository and is let through by .dockerignore."""
    copies = [line.split()[1:-1] for line in LINES if line.startswith("COPY ") and "--from" not in line]
    copied = {source for sources in copies for source in sources}
    ignore = (ROOT / ".dockerignore").read_text().splitlines()
    assert copied == {line[1:] for line in ignore if line.startswith("!")}
    assert [source for source in sorted(copied) if not (ROOT / source).exists()] == []


def test_the_image_runs_as_nobody_special() -> None:
    """The image's user is not root, its command is in the exec form, and it has a health check."""
    assert any(re.match(r"^USER [1-9]\d*:[1-9]\d*$", line) for line in LINES)
    assert 'CMD ["python", "worker.py"]' in LINES
    assert any(line.startswith("HEALTHCHECK ") and 'CMD ["python"' in line for line in LINES)


def test_the_image_keeps_no_installer() -> None:
    """The last stage takes the installed packages from the first one and removes pip."""
    last = "\n".join(LINES).split("FROM ")[-1]
    assert "pip uninstall" in last
    assert "pip install" not in last
    assert "gcc" not in last
