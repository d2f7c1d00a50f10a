"""The requests by which the deployment tool changes ECS, each sent only while there is time for its answer."""

from typing import TYPE_CHECKING

from activities._aws import enough_time
from activities._ecs_look import KEY

if TYPE_CHECKING:
    from mypy_boto3_ecs.client import ECSClient
    from mypy_boto3_ecs.type_defs import (
        AwsVpcConfigurationTypeDef,
        CreateServiceRequestTypeDef,
        RegisterTaskDefinitionRequestTypeDef,
    )

    from activities.ecs import DeployService


def register(client: "ECSClient", asked: "DeployService", key: str) -> str:
    """Register a task definition that carries the key, and give its ARN."""
    definition: RegisterTaskDefinitionRequestTypeDef = {
        "family": asked.service,
        "containerDefinitions": [
            {
                "name": asked.service,
                "image": asked.image,
                "essential": True,
                "command": asked.command,
                "environment": [{"name": name, "value": value} for name, value in asked.environment.items()],
            }
        ],
        "requiresCompatibilities": [asked.launch_type],
        "networkMode": "awsvpc" if asked.launch_type == "FARGATE" else "bridge",
        "cpu": str(asked.cpu),
        "memory": str(asked.memory),
        "tags": [{"key": KEY, "value": key}],
    }
    if asked.execution_role:
        definition["executionRoleArn"] = asked.execution_role
    enough_time()
    return client.register_task_definition(**definition)["taskDefinition"].get("taskDefinitionArn", "")


def create(client: "ECSClient", asked: "DeployService", key: str, definition: str) -> None:
    """Make the service; ECS answers a second request with the same key by the first one's service."""
    service: CreateServiceRequestTypeDef = {
        "cluster": asked.cluster,
        "serviceName": asked.service,
        "taskDefinition": definition,
        "desiredCount": asked.tasks,
        "launchType": asked.launch_type,
        "clientToken": key,
        # Without it a deployment whose tasks keep failing is tried for ever; the rollback is ours.
        "deploymentConfiguration": {"deploymentCircuitBreaker": {"enable": True, "rollback": False}},
        "tags": [{"key": KEY, "value": key}],
    }
    if asked.subnets:
        vpc: AwsVpcConfigurationTypeDef = {"subnets": asked.subnets, "securityGroups": asked.security_groups}
        service["networkConfiguration"] = {"awsvpcConfiguration": vpc}
    enough_time()
    client.create_service(**service)


def update(client: "ECSClient", asked: "DeployService", definition: str) -> None:
    """Let the service run the task definition; all else stays as it is."""
    enough_time()
    client.update_service(cluster=asked.cluster, service=asked.service, taskDefinition=definition)
