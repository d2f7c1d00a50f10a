"""Buckets, objects and services as worlds, looked at with boto3 and not with the tools."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import TYPE_CHECKING, Any

from activities.ecs import DeployService
from activities.s3 import CreateBucket, PutObject
from activities.s3_find import FindBucket
from activities.vm import LaunchInstance
from tests.activities.s3_world import snapshot as bucket_snapshot

if TYPE_CHECKING:
    from mypy_boto3_ec2.client import EC2Client
    from mypy_boto3_ecs.client import ECSClient
    from mypy_boto3_s3.client import S3Client

_numbers = count(1)
CLUSTER = "certified"


class Buckets:
    """The buckets that were asked for, with everything that S3 shows of them."""

    compares = "the bucket with its tags, all versions of its objects with content, headers and tags, and its uploads"

    def __init__(self, s3: S3Client) -> None:
        self.s3 = s3
        self.asked: list[str] = []

    @property
    def bucket(self) -> str:
        """The bucket that was asked for last."""
        return self.asked[-1]

    def request(self) -> CreateBucket:
        """Create a bucket that never was: moto gives the tags of a deleted one to the next of its name."""
        self._next()
        return CreateBucket(bucket=self.bucket)

    async def reset(self) -> None:
        self.asked = []

    async def snapshot(self) -> Any:
        found = {name: await asyncio.to_thread(bucket_snapshot, self.s3, name) for name in self.asked}
        return {name: bucket for name, bucket in found.items() if bucket is not None}

    async def disturb(self) -> None:
        await asyncio.to_thread(self._put, "theirs", "kept")

    async def take_away(self) -> None:
        await asyncio.to_thread(self.s3.delete_bucket, Bucket=self.bucket)

    async def already(self) -> None:
        await asyncio.to_thread(self.s3.create_bucket, Bucket=self.bucket)

    def _next(self) -> None:
        self.asked.append(f"certified-{next(_numbers)}")

    def _put(self, key: str, body: str, kind: str = "binary/octet-stream") -> None:
        self.s3.put_object(Bucket=self.bucket, Key=key, Body=body.encode(), ContentType=kind)


class Objects(Buckets):
    """One object in a bucket, written over another one."""

    def __init__(self, s3: S3Client, *, versions: bool = False) -> None:
        super().__init__(s3)
        self.versions = versions

    def put(self) -> PutObject:
        """Write over the object."""
        return PutObject(bucket=self.bucket, key="settings", body="new", content_type="text/plain")

    def find(self) -> FindBucket:
        """Look for the bucket."""
        return FindBucket(bucket=self.bucket)

    async def reset(self) -> None:
        self.asked = []
        self._next()
        await asyncio.to_thread(self._begin)

    async def disturb(self) -> None:
        await asyncio.to_thread(self._put, "settings", "theirs")

    async def take_away(self) -> None:
        await asyncio.to_thread(self._restore)

    async def already(self) -> None:
        await asyncio.to_thread(self._put, "settings", "new", "text/plain")

    def _begin(self) -> None:
        self.s3.create_bucket(Bucket=self.bucket)
        if self.versions:
            self.s3.put_bucket_versioning(Bucket=self.bucket, VersioningConfiguration={"Status": "Enabled"})
        self._put("settings", "old")

    def _restore(self) -> None:
        if not self.versions:
            self._put("settings", "old")
            return
        latest = self.s3.head_object(Bucket=self.bucket, Key="settings")["VersionId"]
        self.s3.delete_object(Bucket=self.bucket, Key="settings", VersionId=latest)


class Services:
    """One service of an ECS cluster that runs a revision already, and all revisions of its family."""

    compares = (
        "the service with its task definition, status, number of tasks and tags, and every revision of its family; "
        "what means the same: without the revisions that are INACTIVE"
    )

    def __init__(self, ecs: ECSClient) -> None:
        self.ecs, self.service = ecs, ""

    def request(self) -> DeployService:
        """Deploy another image."""
        return DeployService(cluster=CLUSTER, service=self.service, image="shop:2", launch_type="EC2")

    async def reset(self) -> None:
        self.service = f"certified-{next(_numbers)}"
        await asyncio.to_thread(self._begin)

    async def snapshot(self) -> dict[str, Any]:
        return await asyncio.to_thread(self._look)

    def meaning(self, snapshot: dict[str, Any]) -> dict[str, Any]:
        living = {arn: status for arn, status in snapshot["revisions"].items() if status == "ACTIVE"}
        return snapshot | {"revisions": living}

    async def disturb(self) -> None:
        await asyncio.to_thread(self._deploy, "theirs:1")

    def _begin(self) -> None:
        self.ecs.create_cluster(clusterName=CLUSTER)
        self.ecs.create_service(
            cluster=CLUSTER,
            serviceName=self.service,
            taskDefinition=self._register("shop:1"),
            desiredCount=1,
            launchType="EC2",
        )

    def _deploy(self, image: str) -> None:
        self.ecs.update_service(cluster=CLUSTER, service=self.service, taskDefinition=self._register(image))

    def _register(self, image: str) -> str:
        container: Any = {"name": "main", "image": image, "memory": 64}
        made = self.ecs.register_task_definition(family=self.service, containerDefinitions=[container])
        return made["taskDefinition"].get("taskDefinitionArn", "")

    def _look(self) -> dict[str, Any]:
        found = self.ecs.describe_services(cluster=CLUSTER, services=[self.service], include=["TAGS"])[
            "services"
        ]
        shown = ("status", "taskDefinition", "desiredCount", "tags")
        statuses: Any = ("ACTIVE", "INACTIVE")
        return {
            "services": [{name: each.get(name) for name in shown} for each in found],
            "revisions": {
                arn: status
                for status in statuses
                for arn in self.ecs.list_task_definitions(familyPrefix=self.service, status=status)[
                    "taskDefinitionArns"
                ]
            },
        }


class Machines:
    """The virtual machines of one name, those that have ended too."""

    compares = (
        "every virtual machine of the name by its id, with image, type, state and tags; what means the same: those "
        "that have not ended"
    )

    def __init__(self, ec2: EC2Client) -> None:
        self.ec2, self.name = ec2, ""
        self.image = ec2.describe_images(Owners=["amazon"])["Images"][0].get("ImageId", "")

    def request(self) -> LaunchInstance:
        """Launch one."""
        return LaunchInstance(name=self.name, image=self.image)

    async def reset(self) -> None:
        self.name = f"certified-{next(_numbers)}"

    async def snapshot(self) -> dict[str, Any]:
        return await asyncio.to_thread(self._look)

    def meaning(self, snapshot: dict[str, Any]) -> dict[str, Any]:
        return {name: each for name, each in snapshot.items() if each[2] != "terminated"}

    async def disturb(self) -> None:
        await asyncio.to_thread(self.ec2.stop_instances, InstanceIds=await self._living())

    async def take_away(self) -> None:
        await asyncio.to_thread(self.ec2.terminate_instances, InstanceIds=await self._living())

    async def _living(self) -> list[str]:
        return list(self.meaning(await self.snapshot()))

    def _look(self) -> dict[str, Any]:
        found = self.ec2.describe_instances(Filters=[{"Name": "tag:Name", "Values": [self.name]}])
        return {
            one.get("InstanceId", ""): (
                one.get("ImageId"),
                one.get("InstanceType"),
                one.get("State", {}).get("Name"),
                one.get("Tags"),
            )
            for each in found["Reservations"]
            for one in each.get("Instances", [])
        }
