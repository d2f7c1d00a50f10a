"""Buckets with their tags and objects, what ECS runs, and EC2's machines, read with boto3."""

import hashlib
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError
from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_ecs import ECSClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import TagTypeDef

QUICK = Config(connect_timeout=5, read_timeout=20, retries={"total_max_attempts": 2}, proxies={})


class Object(BaseModel):
    """One object: its content by hash, and what was said about it."""

    model_config = ConfigDict(frozen=True)
    size: int
    sha256: str
    content_type: str
    metadata: dict[str, str]
    tags: dict[str, str]


class Bucket(BaseModel):
    """One bucket with all current objects."""

    model_config = ConfigDict(frozen=True)
    versioning: str
    tags: dict[str, str]
    objects: dict[str, Object]


class EcsService(BaseModel):
    """One service that is not deleted."""

    model_config = ConfigDict(frozen=True)
    status: str
    task_definition: str
    desired: int
    tags: dict[str, str]


class EcsCluster(BaseModel):
    """One cluster that is not deleted."""

    model_config = ConfigDict(frozen=True)
    status: str
    tags: dict[str, str]
    services: dict[str, EcsService]


class Machine(BaseModel):
    """One virtual machine that is not terminated."""

    model_config = ConfigDict(frozen=True)
    image: str
    type: str
    state: str
    tags: dict[str, str]


def buckets(environment: Mapping[str, str]) -> dict[str, Bucket]:
    """Every bucket by name."""
    s3 = s3_client(environment["RESCIND_S3_ENDPOINT"])
    names = [entry.get("Name", "") for entry in s3.list_buckets()["Buckets"]]
    return {name: bucket(s3, name) for name in names}


def bucket(s3: "S3Client", name: str) -> Bucket:
    """One bucket, read to the last byte."""
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=name)
    keys = [entry.get("Key", "") for page in pages for entry in page.get("Contents", [])]
    return Bucket(
        versioning=s3.get_bucket_versioning(Bucket=name).get("Status", ""),
        tags=bucket_tags(s3, name),
        objects={key: stored(s3, name, key) for key in keys},
    )


def bucket_tags(s3: "S3Client", name: str) -> dict[str, str]:
    """The bucket's tags; S3 answers with an error when it has none."""
    try:
        return as_dict(s3.get_bucket_tagging(Bucket=name)["TagSet"])
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") == "NoSuchTagSet":
            return {}
        raise


def stored(s3: "S3Client", name: str, key: str) -> Object:
    """One object with its content's hash."""
    answer = s3.get_object(Bucket=name, Key=key)
    content = answer["Body"].read()
    return Object(
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        content_type=answer.get("ContentType", ""),
        metadata=answer["Metadata"],
        tags=as_dict(s3.get_object_tagging(Bucket=name, Key=key)["TagSet"]),
    )


def as_dict(tags: "list[TagTypeDef]") -> dict[str, str]:
    """S3's list of tags by key."""
    return {tag["Key"]: tag["Value"] for tag in tags}


@cache  # making one takes longer than using it
def s3_client(endpoint: str) -> "S3Client":
    """A client of the stand-in."""
    return boto3.Session().client("s3", endpoint_url=endpoint, config=QUICK)


@cache
def ecs_client(endpoint: str) -> "ECSClient":
    """A client of the stand-in."""
    return boto3.Session().client("ecs", endpoint_url=endpoint, config=QUICK)


@cache
def ec2_client(endpoint: str) -> "EC2Client":
    """A client of the stand-in."""
    return boto3.Session().client("ec2", endpoint_url=endpoint, config=QUICK)


def machines(environment: Mapping[str, str]) -> dict[str, Machine]:
    """Every virtual machine by id, but for those that end or have ended."""
    endpoint = environment.get("RESCIND_EC2_ENDPOINT")
    if not endpoint:
        return {}
    pages = ec2_client(endpoint).get_paginator("describe_instances").paginate()
    every = [one for page in pages for each in page["Reservations"] for one in each.get("Instances", [])]
    return {
        one.get("InstanceId", ""): Machine(
            image=one.get("ImageId", ""),
            type=str(one.get("InstanceType")),
            state=str(one.get("State", {}).get("Name")),
            tags={tag.get("Key", ""): tag.get("Value", "") for tag in one.get("Tags", [])},
        )
        for one in every
        if one.get("State", {}).get("Name") not in ("shutting-down", "terminated")
    }


def clusters(environment: Mapping[str, str]) -> dict[str, EcsCluster]:
    """Every living cluster by name, with its living services."""
    ecs = ecs_client(environment["RESCIND_ECS_ENDPOINT"])
    arns = [arn for page in ecs.get_paginator("list_clusters").paginate() for arn in page["clusterArns"]]
    if not arns:
        return {}
    found = ecs.describe_clusters(clusters=arns, include=["TAGS"])["clusters"]
    return {
        entry.get("clusterName", ""): EcsCluster(
            status=entry.get("status", ""),
            tags={tag.get("key", ""): tag.get("value", "") for tag in entry.get("tags", [])},
            services=services(ecs, entry.get("clusterArn", "")),
        )
        for entry in found
        if entry.get("status") != "INACTIVE"
    }


def services(ecs: "ECSClient", cluster: str) -> dict[str, EcsService]:
    """The living services of a cluster by name."""
    pages = ecs.get_paginator("list_services").paginate(cluster=cluster)
    arns = [arn for page in pages for arn in page["serviceArns"]]
    found: dict[str, EcsService] = {}
    for start in range(0, len(arns), 10):  # ECS describes at most ten at once
        some = ecs.describe_services(cluster=cluster, services=arns[start : start + 10], include=["TAGS"])
        for entry in some["services"]:
            if entry.get("status") != "INACTIVE":
                found[entry.get("serviceName", "")] = EcsService(
                    status=entry.get("status", ""),
                    task_definition=entry.get("taskDefinition", "").rpartition("/")[2],
                    desired=entry.get("desiredCount", 0),
                    tags={tag.get("key", ""): tag.get("value", "") for tag in entry.get("tags", [])},
                )
    return found


def task_definitions(environment: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Every active task definition, as `family:revision`, with its containers' images by name."""
    ecs = ecs_client(environment["RESCIND_ECS_ENDPOINT"])
    pages = ecs.get_paginator("list_task_definitions").paginate(status="ACTIVE")
    found: dict[str, dict[str, str]] = {}
    for arn in [arn for page in pages for arn in page["taskDefinitionArns"]]:
        entry = ecs.describe_task_definition(taskDefinition=arn)["taskDefinition"]
        images = entry.get("containerDefinitions", [])
        found[arn.rpartition("/")[2]] = {one.get("name", ""): one.get("image", "") for one in images}
    return found
