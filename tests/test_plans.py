"""The example plans, run by the application's own worker: the same outcome as the workflows written by hand."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from psycopg import sql
from temporalio.client import Client, WorkflowFailureError
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.exceptions import ApplicationError

from activities.catalogue import CATALOGUE
from embedded.world import difference
from rescind import Outcome, SagaReport
from rescind.plans import ExecutePlan, Plan, PlanOrder, ProvenGrade, certified, check, entries, preview
from starter import CERTIFICATES
from tests.activities.sandbox_world import new_address, sandbox_of
from tests.application import ROOT, Application
from tests.rescind.sagas import until
from workflows.fulfil_order import CustomerOrder, FulfilOrder

EXAMPLES = sorted((ROOT / "plans").glob("*.yaml"))
FAILURES: dict[str, dict[str, Any]] = {
    "branch": {"from_ref": "no-such-ref"},
    "schema": {"up": "DROP TABLE nowhere", "down": "SELECT 1"},
    "program": {"cluster": "nowhere"},
    "announce": {"webhook": "revoked"},
}


@pytest.fixture(scope="module")
async def client(application: Application) -> Client:
    """A client of the dev server."""
    address = application.environment["TEMPORAL_ADDRESS"]
    return await Client.connect(address, data_converter=pydantic_data_converter)


def example(name: str, instead: dict[str, str]) -> dict[str, Any]:
    """An example plan with other names in it."""
    text = (ROOT / "plans" / f"{name}.yaml").read_text()
    for old, new in instead.items():
        text = text.replace(old, new)
    plan: dict[str, Any] = yaml.safe_load(text)
    return plan


def step(plan: dict[str, Any], name: str) -> dict[str, Any]:
    """A step of a plan."""
    found: dict[str, Any] = next(each for each in plan["steps"] if each["id"] == name)
    return found


async def run(client: Client, application: Application, plan: dict[str, Any]) -> Any:
    order = PlanOrder(plan=Plan.model_validate(plan), pre_approved=["chat.notify"])
    return await client.execute_workflow(
        ExecutePlan.run, order, id=f"plan-{uuid.uuid4()}", task_queue=application.task_queue
    )


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_every_example_is_a_sound_plan(file: Path) -> None:
    """Nothing is wrong with it, no person has to be warned of it, and its dry run tells of every step."""
    plan = yaml.safe_load(file.read_text())
    found = check(plan, CATALOGUE, pre_approved=["chat.notify"])
    assert (found.problems, found.warnings) == ([], [])
    assert len(preview(found, CATALOGUE)) == len(plan["steps"])


def test_every_reversible_tool_has_a_grade() -> None:
    """The catalogue's grades are those of the certificates that are kept beside the docs."""
    grades = {entry.name: entry.grade for entry in entries(CATALOGUE, certified(CERTIFICATES))}
    assert grades["chat.notify"] is None
    assert grades["git.create_branch"] is ProvenGrade.EXACT
    assert grades["billing.create_invoice"] is ProvenGrade.EQUIVALENT
    assert certified(ROOT / "nowhere")("git.create_branch") is ProvenGrade.UNVERIFIED


async def test_an_environment(client: Client, application: Application) -> None:
    """All five systems have what the plan says, and the chat is told the commit."""
    name = f"e-{uuid.uuid4().hex[:8]}"
    done = await run(client, application, example("environment", {"blue": name}))
    world = application.world()
    assert world.git["app"][f"refs/heads/env/{name}"] == done.steps["branch"].result["commit"]
    assert f"env-{name}" in world.buckets
    assert f"public.{name}_settings" in world.databases["app"].relations
    assert name in world.clusters["default"].services
    (message,) = (each.text for each in world.messages if name in each.text)
    assert done.steps["branch"].result["commit"] in message


@pytest.mark.parametrize("at", FAILURES)
async def test_an_environment_that_fails(at: str, client: Client, application: Application) -> None:
    """A refusal at any step leaves the world, value by value, as it was; those beside it are undone, too."""
    plan = example("environment", {"blue": f"e-{uuid.uuid4().hex[:8]}"})
    step(plan, at)["arguments"] |= FAILURES[at]
    before = application.world()
    report = await failing(client, application, plan)
    assert report.failed_at == f"{at}#1"
    assert difference(before, application.world()) == []


async def test_emptied_while_people_thought(client: Client, application: Application) -> None:
    """Two people approve a transfer, the account is emptied meanwhile: nothing is sent to the bank, all is undone."""
    name = uuid.uuid4().hex[:16]
    source = f"DE05{name.upper()}"
    pay = {"source": source, "target": "DE02BBBB2", "amount": 4200, "purpose": "rent"}
    steps = [
        {"id": "bucket", "tool": "s3.create_bucket", "arguments": {"bucket": f"b-{name}"}},
        {"id": "rent", "tool": "payments.transfer", "needs": ["bucket"], "arguments": pay},
    ]
    before = application.world()
    running = await client.start_workflow(
        ExecutePlan.run,
        PlanOrder(plan=Plan.model_validate({"steps": steps})),
        id=f"plan-{name}",
        task_queue=application.task_queue,
    )
    await until(lambda: waits(application, running.id))
    assert application.run("starter.py", "approve", running.id, "--who", "anna").code == 0
    async with sandbox_of(application.environment) as sandbox:
        sent = await sandbox.calls("payments.transfer")
        await sandbox.sold_out("payments", source)
        assert application.run("starter.py", "approve", running.id, "--who", "ben").code == 0
        with pytest.raises(WorkflowFailureError) as failed:
            await running.result()
        assert await sandbox.calls("payments.transfer") == sent
    assert isinstance(failed.value.cause, ApplicationError)
    report = SagaReport.model_validate(failed.value.cause.details[0])
    assert report.failed_at == "rent#1"
    assert f"{source} has less than 4200 eur by now (asked before the call" in str(report.error)
    assert difference(before, application.world()) == []


async def test_announced_too_early(client: Client, application: Application) -> None:
    """A person approves the word to the team, then the deployment fails: all else is undone, operations are alerted."""
    name = f"e-{uuid.uuid4().hex[:8]}"
    plan = example("environment", {"blue": name})
    step(plan, "program")["needs"].append("announce")
    step(plan, "program")["arguments"]["cluster"] = "nowhere"
    before = application.world()
    running = await client.start_workflow(
        ExecutePlan.run,
        PlanOrder(plan=Plan.model_validate(plan)),
        id=f"plan-{name}",
        task_queue=application.task_queue,
    )
    await until(lambda: waits(application, running.id))
    approved = application.run(
        "starter.py", "approve", running.id, "--who", "anna", "--note", "they wait for it"
    )
    assert approved.code == 0, approved
    assert "announce#1 is approved by anna: they wait for it" in approved.out
    with pytest.raises(WorkflowFailureError) as failed:
        await running.result()
    assert isinstance(failed.value.cause, ApplicationError)
    assert failed.value.cause.type == "UndoIncomplete"
    after = application.world()
    assert [each.text for each in after.messages if f"{name} is there" in each.text] != []
    assert (after.git, after.buckets, after.clusters) == (before.git, before.buckets, before.clusters)
    assert after.databases == before.databases
    alert = f"CRITICAL: The environment {name}"

    async def told() -> bool:
        async with sandbox_of(application.environment) as sandbox:
            chat = [str(each["body"]["text"]) for each in await sandbox.get("/messages")]
            mails = [str(each) for each in await sandbox.get("/mails")]
        return any(alert in each for each in chat) and any(alert in each for each in mails)

    await until(told)
    assert running.id in application.run("starter.py", "desk", "--limit", "500").out


async def waits(application: Application, workflow_id: str) -> bool:
    """Whether a saga waits for approval."""
    found = json.loads(application.run("starter.py", "approvals", "--json").out)
    return any(each["workflow"] == workflow_id for each in found)


async def test_an_order(client: Client, application: Application) -> None:
    """The plan and the workflow leave the same: the order's status, an open invoice, and the mail word for word."""
    address, other = new_address(), new_address()
    async with sandbox_of(application.environment) as sandbox:
        order, customer = await sandbox.new_order("pending"), await sandbox.new_customer()
        by_hand, by_hand_customer = await sandbox.new_order("pending"), await sandbox.new_customer()
        names = {"order-1001": order, "cus_1001": customer, "ada@example.com": address}
        await run(client, application, example("order", names))
        wanted = CustomerOrder(
            order=by_hand, customer=by_hand_customer, email=other, amount=4200, description="A book"
        )
        await client.execute_workflow(
            FulfilOrder.run,
            wanted,
            id=f"order-{uuid.uuid4()}",
            task_queue=application.task_queue,
        )
        assert (
            (await sandbox.order(order))["status"] == (await sandbox.order(by_hand))["status"] == "confirmed"
        )
        (planned,) = await sandbox.invoices(customer)
        (written,) = await sandbox.invoices(by_hand_customer)
        assert (planned.status, planned.amount_due) == (written.status, written.amount_due) == ("open", 4200)
        (mail,) = await sandbox.mails(address)
        (model,) = await sandbox.mails(other)
    text = model["text"].replace(by_hand, order).replace(str(written.number), str(planned.number))
    assert mail["text"] == text


async def test_an_order_whose_mail_is_refused(client: Client, application: Application) -> None:
    """Status and invoice are taken back as the workflow does."""
    address = new_address()
    async with sandbox_of(application.environment) as sandbox:
        order, customer = await sandbox.new_order("on_hold"), await sandbox.new_customer()
        before = await sandbox.order(order)
        await sandbox.misbehave("mail.rcpt", "refuse", calls=None, contains=address)
        names = {"order-1001": order, "cus_1001": customer, "ada@example.com": address}
        with pytest.raises(WorkflowFailureError):
            await run(client, application, example("order", names))
        assert await sandbox.order(order) == before
        assert [each.status for each in await sandbox.invoices(customer)] == ["void"]


def machine(name: str) -> dict[str, Any]:
    return example("machine", {"build-1": name})


async def test_a_machine(client: Client, application: Application) -> None:
    """It runs, and the file says which machine and which commit."""
    name = f"m-{uuid.uuid4().hex[:8]}"
    done = await run(client, application, machine(name))
    world = application.world()
    found = world.machines[done.steps["machine"].result["instance"]]
    assert (found.state, found.tags["Name"]) == ("running", name)
    assert f"app/{name}.txt" in world.files


@pytest.mark.parametrize("unreadable", [{"branch": "no-such-branch"}, {"remote": "no-such-remote"}])
async def test_a_machine_whose_repository_cannot_be_read(
    unreadable: dict[str, str], client: Client, application: Application
) -> None:
    """Afterwards no machine runs that was not there before."""
    plan = machine(f"m-{uuid.uuid4().hex[:8]}")
    step(plan, "repository")["arguments"] |= unreadable
    before = application.world()
    report = await failing(client, application, plan)
    assert report.failed_at == "repository"
    assert [each.tool for each in report.steps] == ["vm.launch"]
    assert difference(before, application.world()) == []


async def test_a_table_whose_program_is_never_healthy(client: Client, application: Application) -> None:
    """Afterwards the table has its old name and its rows, and no service is left."""
    name = f"r-{uuid.uuid4().hex[:8]}"
    old, new = f"{name}-orders", f"{name}-purchases"
    plan = example("rename", {"table: orders": f"table: {old}", "to: purchases": f"to: {new}", "shop": name})
    # The stand-in runs one task of each new service, so that of two it never runs enough.
    step(plan, "program")["arguments"] |= {"tasks": 2, "healthy_within": 2}
    with psycopg.connect(json.loads(application.environment["RESCIND_DATABASES"])["app"]) as database:
        database.execute(sql.SQL("CREATE TABLE {} AS SELECT 1 AS id").format(sql.Identifier(old)))
    before = application.world()
    report = await failing(client, application, plan)
    assert report.failed_at == "program#1"
    assert report.steps[0].tool == "postgres.rename_table"
    assert "was not healthy" in str(report.error)
    assert difference(before, application.world()) == []


async def failing(client: Client, application: Application, plan: dict[str, Any]) -> SagaReport:
    """Run a plan that fails and is undone."""
    with pytest.raises(WorkflowFailureError) as failed:
        await run(client, application, plan)
    assert isinstance(failed.value.cause, ApplicationError)
    report = SagaReport.model_validate(failed.value.cause.details[0])
    assert report.outcome is Outcome.UNDONE
    return report


def test_by_the_command_line(application: Application, tmp_path: Path) -> None:
    """The command runs it to its end."""
    name = f"e-{uuid.uuid4().hex[:8]}"
    file = tmp_path / f"{name}.yaml"
    file.write_text(yaml.safe_dump(example("environment", {"blue": name})))
    words = ("--pre-approve", "chat.notify", "--task-queue", application.task_queue)
    done = application.run("starter.py", "plan", str(file), *words)
    assert done.code == 0, done
    assert "done: every step stands" in done.out
