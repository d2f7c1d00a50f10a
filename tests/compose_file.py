"""Reads docker-compose.yml as Compose would."""

import json
import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parent.parent
COMPOSE = ROOT / "docker-compose.yml"
INTERPOLATED = re.compile(r"\$\{(?P<name>[A-Z0-9_]+)(?::?-(?P<default>[^}]*))?\}")


def compose() -> dict[str, Any]:
    """The Compose file with its anchors merged and every variable at its default."""
    # As JSON: Compose replaces a variable inside a string, so that an empty one stays a string.
    text = json.dumps(yaml.safe_load(COMPOSE.read_text()))
    loaded: dict[str, Any] = json.loads(INTERPOLATED.sub(lambda found: found["default"] or "", text))
    return loaded


def services() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = compose()["services"]
    return found
