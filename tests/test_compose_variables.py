"""What the services of docker-compose.yml are told, against what reads it."""

import ast

import pytest
from temporalio.envconfig import ClientConfigProfile

from activities.settings import Settings, settings
from tests.compose_file import COMPOSE, INTERPOLATED, ROOT, services


def example_env() -> dict[str, str]:
    lines = (ROOT / "deploy/example.env").read_text().splitlines()
    pairs = (line.partition("=") for line in lines if line and not line.startswith("#"))
    return {name: value for name, _, value in pairs}


def test_example_env_names_every_variable_with_its_default() -> None:
    """deploy/example.env is the whole list of what can be set, and setting it as it is changes nothing."""
    used = {found["name"]: found["default"] or "" for found in INTERPOLATED.finditer(COMPOSE.read_text())}
    told = example_env()
    del told["COMPOSE_PROJECT_NAME"]  # read by Compose itself
    derived = {"RESCIND_S3_ENDPOINT"}  # docs/deployment.md: set only to leave the S3 server for AWS
    assert {name: value for name, value in used.items() if name not in derived} == told


def test_a_variable_has_one_default() -> None:
    """The same variable does not stand for two different values in two places."""
    defaults: dict[str, set[str]] = {}
    for found in INTERPOLATED.finditer(COMPOSE.read_text()):
        defaults.setdefault(found["name"], set()).add(found["default"] or "")
    assert {name: values for name, values in defaults.items() if len(values) > 1} == {}


def names_in_our_code() -> set[str]:
    """Names of variables in the settings, or standing alone as a string in what workers and jobs run."""
    fields = {f"RESCIND_{field.upper()}" for field in Settings.model_fields}
    folders = ("rescind", "activities", "embedded")
    sources = [source for folder in folders for source in (ROOT / folder).rglob("*.py")] + [
        ROOT / "worker.py"
    ]
    trees = (ast.parse(source.read_text()) for source in sources)
    strings = {
        node.value
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return fields | strings


def test_our_services_get_only_variables_that_are_read() -> None:
    """Each RESCIND_ variable of a service of ours is read by our code, each TEMPORAL_ one by the SDK."""
    given = {
        name: value
        for service in services().values()
        if service["image"].startswith("rescind:")
        for name, value in service.get("environment", {}).items()
    }
    ours = {name for name in given if name.startswith("RESCIND_")}
    assert ours
    assert ours - names_in_our_code() == set()
    temporal = {name: value for name, value in given.items() if name.startswith("TEMPORAL_")}
    profile = ClientConfigProfile.load(disable_file=True, override_env_vars=temporal)
    assert {profile.address, profile.namespace} == set(temporal.values())
    aws = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"}
    assert set(given) == ours | set(temporal) | aws


def test_an_empty_endpoint_means_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the workers' own variables the settings are whole, and an endpoint left empty is AWS itself."""
    for name, value in services()["worker"]["environment"].items():
        monkeypatch.setenv(name, value)
    found = settings()
    assert found.ecs_endpoint is None
    assert found.s3_endpoint == "http://s3:7070"
    assert set(found.databases) == set(found.git_remotes) == {"app"}
    assert set(found.chat_webhooks) == {"ops"}


def test_operations_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a failed saga the workers tell a webhook that they have, and an address by the mail server that they have."""
    for name, value in services()["worker"]["environment"].items():
        monkeypatch.setenv(name, value)
    found = settings()
    assert found.operations_webhook is not None
    assert found.chat_webhooks[found.operations_webhook].get_secret_value().startswith("http://sandbox:")
    assert found.operations_address is not None
    assert found.smtp == "mail:8025"
