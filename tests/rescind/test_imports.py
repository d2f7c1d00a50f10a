"""Imports point one way, and the one literal `finally:` of the workflow side is in the saga."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

MAY_IMPORT = {
    "starter": {"starter_business", "workflows", "activities", "rescind", "embedded"},
    "starter_business": {"workflows", "rescind"},
    "worker": {"workflows", "activities", "rescind", "embedded"},
    "workflows": {"activities", "rescind"},
    "activities": {"rescind"},
    "rescind": set[str](),
    "embedded": set[str](),
}
"""What each part of the house may import of the others; `--embedded` is wiring, so the two programs may start them."""

OURS = {*MAY_IMPORT, "tests", "demo", "benchmarks"}
LIBRARIES = {"temporalio", "pydantic", "pydantic_core", "psycopg", "stamina", "typer", "rich"}
"""What the wheel declares, by the names of the modules; `typing_extensions` comes with Pydantic."""

EXTRAS = {
    "rescind/evidence/_status.py": {"httpx"},
    "rescind/evidence/aws.py": {"botocore"},
    "rescind/evidence/docker.py": {"docker", "requests", "urllib3"},
    "rescind/evidence/http.py": {"httpx"},
    "rescind/evidence/smtp.py": {"aiosmtplib"},
    "rescind/evidence/stripe.py": {"stripe"},
    "rescind/cli/_input.py": {"yaml"},
    "rescind/planner/_model.py": {"pydantic_ai"},
    "rescind/testing/plugin.py": {"pytest"},
}
"""A module for one kind of client may import that client, which an extra brings; YAML is read where it is installed."""

PROVIDERS = {
    "aiosmtplib",
    "boto3",
    "botocore",
    "docker",
    "httpx",
    "openai",
    "pydantic_ai",
    "requests",
    "stripe",
    "yaml",
}

IN_WORKFLOWS = (
    "_carried.py",
    "_child.py",
    "_continuing.py",
    "_details.py",
    "_endings.py",
    "_in_flight.py",
    "_listing.py",
    "_notice.py",
    "_part.py",
    "_persons_word.py",
    "_record.py",
    "_refusals.py",
    "_reversal.py",
    "_savepoint.py",
    "_schedule.py",
    "_sealing.py",
    "_stack.py",
    "_survey.py",
    "_undo_elsewhere.py",
    "_steps.py",
    "_unwind.py",
    "_workflow.py",
    "approvals/_gates.py",
    "approvals/_words.py",
    "planner/_workflow.py",
    "plans/_asking.py",
    "plans/_execute.py",
    "plans/_going_on.py",
    "plans/_run.py",
    "reconciliation/_open.py",
    "reconciliation/_room.py",
    "reconciliation/_telling.py",
    "reconciliation/_undoing.py",
    "reconciliation/_work.py",
    "reconciliation/_workflow.py",
    "recovery/_agreement.py",
    "recovery/_ask.py",
    "recovery/_preview.py",
    "recovery/_sweep.py",
    "recovery/_undo_saga.py",
    "saga.py",
)
"""The files of rescind/ whose functions run inside workflows."""


def imported(source: str) -> Iterator[str]:
    """The top-level packages that a source imports, at its top or later."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield (node.module or "").split(".")[0]


def violations(path: str, source: str) -> list[str]:
    """The imports of a file that point the wrong way."""
    part = path.removesuffix(".py").split("/")[0]
    wrong = {name for name in imported(source) if name in OURS - MAY_IMPORT[part] - {part}}
    if part == "rescind":
        allowed = (
            LIBRARIES | sys.stdlib_module_names | {"rescind", "typing_extensions"} | EXTRAS.get(path, set())
        )
        wrong |= {name for name in imported(source) if name not in allowed}
    return [f"{path} imports {name}" for name in sorted(wrong)]


def sources() -> dict[str, str]:
    """Every Python file of the house, by its path from the root."""
    paths = [path for part in MAY_IMPORT for path in (ROOT / part).rglob("*.py")]
    paths += [ROOT / f"{part}.py" for part in MAY_IMPORT if (ROOT / f"{part}.py").exists()]
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in paths}


def test_imports_point_one_way() -> None:
    """starter, worker -> workflows -> activities -> rescind -> the libraries; embedded imports none of ours."""
    house = sources()
    assert {path.split("/")[0] for path in house} >= {"activities", "rescind", "embedded"}
    assert [wrong for path, source in house.items() for wrong in violations(path, source)] == []


@pytest.mark.parametrize(
    ("path", "source", "found"),
    [
        ("rescind/_stack.py", "from activities import s3", "rescind/_stack.py imports activities"),
        ("rescind/_stack.py", "def f():\n    import httpx", "rescind/_stack.py imports httpx"),
        ("rescind/evidence/aws.py", "import docker", "rescind/evidence/aws.py imports docker"),
        ("activities/s3.py", "import workflows.provision", "activities/s3.py imports workflows"),
        ("activities/s3.py", "if True:\n    from embedded import Stack", "activities/s3.py imports embedded"),
        ("workflows/trip.py", "import worker", "workflows/trip.py imports worker"),
        ("embedded/mail.py", "from rescind import Tool", "embedded/mail.py imports rescind"),
        ("starter.py", "import tests.rescind", "starter.py imports tests"),
    ],
)
def test_an_import_that_points_the_wrong_way(path: str, source: str, found: str) -> None:
    """A planted one is found, wherever in the file it stands."""
    assert violations(path, source) == [found]


def test_no_provider_is_imported_with_the_sdk() -> None:
    """`import rescind`, its command line and its ledger load no provider's client."""
    code = "import sys, rescind, rescind.cli, rescind.ledger; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "temporalio" in loaded
    assert loaded & PROVIDERS == set()


def finallys(source: str) -> int:
    """How many `finally:` a source has."""
    return sum(
        isinstance(node, ast.Try | ast.TryStar) and bool(node.finalbody)
        for node in ast.walk(ast.parse(source))
    )


def test_the_one_finally_of_the_workflow_side() -> None:
    """It is in saga.py; every other file that runs in workflows has none, and the application's workflows neither."""
    house = sources()
    workflow_side = {f"rescind/{name}": house[f"rescind/{name}"] for name in IN_WORKFLOWS}
    workflow_side |= {path: source for path, source in house.items() if path.startswith("workflows/")}
    assert {path: count for path, source in workflow_side.items() if (count := finallys(source))} == {
        "rescind/saga.py": 1
    }


def test_the_list_of_what_runs_in_workflows_is_complete() -> None:
    """A file of rescind/ that calls Temporal's workflow functions is on the list; two work beside workflows."""
    using = {
        path.removeprefix("rescind/")
        for path, source in sources().items()
        if path.startswith("rescind/") and any(_uses_workflow(node) for node in ast.walk(ast.parse(source)))
    }
    assert using - {"_interceptor.py", "cli/_log.py"} <= set(IN_WORKFLOWS)


def _uses_workflow(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "workflow"
    )
