"""starter.py as people use it: input from options and files, running stand-ins, and what it prints."""

import json
import signal
import uuid
from pathlib import Path

import pytest
import yaml

from embedded import Description, isolated
from embedded.world import difference
from rescind import SagaReport
from tests.application import Application, until


@pytest.fixture
def name() -> str:
    """The name of an environment that nothing else has."""
    return f"s-{uuid.uuid4().hex[:8]}"


def wanted(name: str) -> dict[str, object]:
    """A whole input."""
    return {
        "branch": {"remote": "app", "branch": f"env/{name}"},
        "bucket": {"bucket": name},
        "migrate": {
            "database": "app",
            "name": name,
            "up": f'CREATE TABLE "{name}" ()',
            "down": f'DROP TABLE "{name}"',
        },
        "service": {"cluster": "default", "service": name, "image": "web:1"},
        "notification": {"webhook": "ops", "text": f"{name} is there"},
        "pre_approved": ["chat.notify"],
    }


def test_options(application: Application, name: str) -> None:
    """With a name alone everything is made, the steps are shown, and the code is 0."""
    ran = application.provision("--name", name)
    assert ran.code == 0, ran
    assert "done: every step stands" in ran.out
    assert f"env-{name}" in application.world().buckets


@pytest.mark.parametrize("kind", ["json", "yaml"])
def test_file(application: Application, name: str, kind: str, tmp_path: Path) -> None:
    """The whole input may come from a JSON or a YAML file."""
    file = tmp_path / f"{name}.{kind}"
    file.write_text(json.dumps(wanted(name)) if kind == "json" else yaml.safe_dump(wanted(name)))
    ran = application.provision("--file", str(file))
    assert ran.code == 0, ran
    assert name in application.world().buckets


def test_undone(application: Application, name: str) -> None:
    """A refusal at the last step ends with 1; error and restorations are printed, and the ledger has the same."""
    before = application.world()
    ran = application.provision("--name", name, "--webhook", "revoked")
    assert ran.code == 1, ran
    assert "notify#1 failed: " in ran.out
    assert (
        ran.out.count("undone: exact") >= 3
    )  # in the table in the end; the lines before it may leave states out
    report = SagaReport.model_validate_json(
        application.run("starter.py", "show", f"provision-{name}", "--json").out
    )
    assert report.failed_at == "notify#1"
    assert difference(before, application.world()) == []


def test_not_clean(application: Application, name: str) -> None:
    """When a step can't be taken back, it is left, named as what is left, and the code is 3."""
    table = f"{name}_settings"
    up = f'CREATE TABLE "{table}" (name text PRIMARY KEY, value text)'
    ran = application.provision("--name", name, "--up", up, "--down", "SELECT 1 / 0", "--webhook", "revoked")
    assert ran.code == 3, ran
    assert "NOT CLEAN" in ran.out
    assert "migrate#1" in ran.out
    assert f"public.{table}" in application.world().databases["app"].relations


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--name", "Not a name"), ["branch.branch", "bucket.bucket"]),
        (("--file", "/no/such/file.yaml"), ["can't be read"]),
        ((), ["--name"]),
    ],
    ids=["name", "file", "nothing"],
)
def test_bad_input(application: Application, words: tuple[str, ...], said: list[str]) -> None:
    """Bad input ends with 2, names every problem, and starts nothing."""
    ran = application.provision(*words)
    assert ran.code == 2, ran
    assert [word for word in said if word not in ran.err] == []


def test_bad_file(application: Application, name: str, tmp_path: Path) -> None:
    """Every problem of a file is named in plain words."""
    file = tmp_path / "bad.yaml"
    file.write_text(yaml.safe_dump({**wanted(name), "bucket": {"bucket": "A B", "size": 3}, "branch": None}))
    ran = application.provision("--file", str(file))
    assert ran.code == 2, ran
    for said in ("bucket.size: there is no such field", "bucket.bucket: ", "branch: ", "Nothing was started"):
        assert said in ran.err


def test_nobody_has_approved(application: Application, name: str) -> None:
    """The last step waits for a person, the way to approve it is said, and approved it is done."""
    words = ("provision", "--name", name, "--on", "ecs", "--task-queue", application.task_queue)
    with application.started("starter.py", *words) as running:
        assert running.stdout is not None
        said = next(line for line in running.stdout if "waits for approval until" in line)
        command = f"approve provision-{name} --step notify#1"
        assert f"python starter.py {command}" in said
        assert f"provision-{name}" in application.run("starter.py", "approvals").out
        approved = application.run("starter.py", *command.split())
        assert approved.code == 0, approved
        assert "done: every step stands" in running.stdout.read()
        assert running.wait(30) == 0


def test_nobody_works(idle_application: Application, name: str) -> None:
    """On a queue without a worker it ends with 4, and nothing was started."""
    ran = idle_application.provision("--name", name)
    assert ran.code == 4, ran
    assert "Nothing was started" in ran.err


def test_finds_stand_ins(application: Application, stack: Description, name: str) -> None:
    """With an environment that names no server it uses the stand-ins that run in the folder, and says so."""
    bare = Application(isolated(application.environment, stack.directory), application.task_queue)
    ran = bare.provision("--name", name, RESCIND_DIRECTORY=str(stack.directory))
    assert ran.code == 0, ran
    assert f"Temporal: {stack.services['temporal'].address}" in ran.err
    assert f"the stand-ins in {stack.directory}" in ran.err
    assert stack.web_ui in ran.out


def test_interrupted(application: Application, name: str) -> None:
    """Ctrl-C ends with 130 and says how to watch the saga, which goes on."""
    up = f'CREATE TABLE "{name}" AS SELECT 1 AS one FROM pg_sleep(3)'
    words = ("--name", name, "--up", up, "--down", f'DROP TABLE "{name}"', "--pre-approve", "chat.notify")
    queue = ("--on", "ecs", "--task-queue", application.task_queue)
    with application.started("starter.py", "provision", *words, *queue) as starter:
        until(starter, "migrate#1")
        starter.send_signal(signal.SIGINT)
        said, _ = starter.communicate(timeout=60)
    assert starter.returncode == 130, said
    assert f"python starter.py watch provision-{name}" in said
    assert application.run("starter.py", "watch", f"provision-{name}").code == 0
