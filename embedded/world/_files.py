"""The files below the folders that tools may write to."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path


def files(environment: Mapping[str, str]) -> dict[str, str]:
    """Every file as `folder/path`, with its permissions and its content's hash."""
    roots: dict[str, str] = json.loads(environment.get("RESCIND_FILE_ROOTS") or "{}")
    return {
        f"{alias}/{file.relative_to(root)}": said_of(file)
        for alias, root in roots.items()
        for file in sorted(Path(root).rglob("*"))
        if file.is_file()
    }


def said_of(file: Path) -> str:
    """A file's permissions and the hash of its content."""
    return f"{file.stat().st_mode & 0o7777:o} {hashlib.sha256(file.read_bytes()).hexdigest()}"
