"""The workflow that provisions an environment in five systems, all of it or nothing."""

from typing import Self

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from temporalio import workflow

from rescind import Saga

with workflow.unsafe.imports_passed_through():
    from activities.chat import NOTIFY, Notify
    from activities.container import DEPLOY_CONTAINER, DeployContainer
    from activities.ecs import DEPLOY_SERVICE, DeployService
    from activities.git import CREATE_BRANCH, CreateBranch
    from activities.postgres import ADD_COLUMN, RENAME_TABLE, AddColumn, RenameTable
    from activities.postgres_migration import MIGRATE, Migrate
    from activities.s3 import CREATE_BUCKET, CreateBucket

SCHEMA_CHANGES = ("migrate", "add_column", "rename_table")
DEPLOYMENTS = ("container", "service")


class Environment(BaseModel):
    """An environment as it is to be, step by step.

    Attributes:
        branch: The branch of its code.
        bucket: The bucket of its files.
        migrate: The change of the database's schema, as SQL; or one of the next two.
        add_column: The same, as a column.
        rename_table: The same, as a table's new name.
        container: Its program, on a Docker Engine; or `service`.
        service: Its program, on ECS.
        notification: Who is told when all is there.
        pre_approved: Names of tools that can't be undone and may run without asking anybody.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    branch: CreateBranch
    bucket: CreateBucket
    migrate: Migrate | None = None
    add_column: AddColumn | None = None
    rename_table: RenameTable | None = None
    container: DeployContainer | None = None
    service: DeployService | None = None
    notification: Notify
    pre_approved: list[str] = []

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        for choices in (SCHEMA_CHANGES, DEPLOYMENTS):
            given = [name for name in choices if getattr(self, name) is not None]
            if len(given) != 1:
                said = " and ".join(given) or "none"
                raise ValueError(f"give exactly one of {', '.join(choices)}; given: {said}")
        return self


class Provisioned(BaseModel):
    """An environment that is there."""

    branch: str
    commit: str
    bucket: str
    deployment: str


# A ValidationError ends the workflow: bad input from anywhere is then FAILED at once, with no effect.
@workflow.defn(failure_exception_types=[ValidationError])
class ProvisionEnvironment:
    """Branch, bucket, schema, deployment, notification; a failure at any of them undoes all before it."""

    @workflow.run
    async def run(self, environment: Environment) -> Provisioned:
        """Provision the environment.

        Raises:
            SagaUndone: A step failed, and every step before it was undone.
            UndoIncomplete: A step failed, and something stands or may stand; the report says what.
        """
        async with Saga(approved=environment.pre_approved) as saga:
            branch = await saga.step(CREATE_BRANCH, environment.branch)
            bucket = await saga.step(CREATE_BUCKET, environment.bucket)
            await _change_schema(saga, environment)
            deployment = await _deploy(saga, environment)
            await saga.step(NOTIFY, environment.notification)
            await saga.commit()
        return Provisioned(
            branch=branch.branch, commit=branch.commit, bucket=bucket.bucket, deployment=deployment
        )


async def _change_schema(saga: Saga, environment: Environment) -> None:
    if environment.migrate:
        await saga.step(MIGRATE, environment.migrate)
    if environment.add_column:
        await saga.step(ADD_COLUMN, environment.add_column)
    if environment.rename_table:
        await saga.step(RENAME_TABLE, environment.rename_table)


async def _deploy(saga: Saga, environment: Environment) -> str:
    if environment.container:
        container = await saga.step(DEPLOY_CONTAINER, environment.container)
        return container.name
    assert environment.service is not None  # noqa: S101  (the model has exactly one of the two)
    service = await saga.step(DEPLOY_SERVICE, environment.service)
    return service.service
