"""What needs a person, with this application's own tools: a real conflict, from the alert to the closed saga."""

import threading
import uuid
from typing import Any

import boto3
from botocore.exceptions import ClientError

from tests.application import Application


def test_a_file_in_the_bucket(application: Application) -> None:
    """The bucket is not deleted and operations are alerted; once the file is gone, a retry takes the bucket away."""
    name = f"desk-{uuid.uuid4().hex[:8]}"
    bucket, saga = f"env-{name}", f"provision-{name}"
    s3 = boto3.client(
        "s3",
        endpoint_url=application.environment["RESCIND_S3_ENDPOINT"],
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )
    somebody = threading.Thread(target=put_when_there, args=(s3, bucket), daemon=True)
    somebody.start()
    ran = application.provision("--name", name, "--webhook", "revoked")
    assert ran.code == 3, ran
    somebody.join()
    desk = application.run("starter.py", "desk", "--limit", "500").out
    assert saga in desk
    assert "conflict" in desk
    retried = application.run("starter.py", "retry", saga, "create_bucket#1")
    assert retried.code == 3, retried
    assert "notes.txt" in retried.out
    s3.delete_object(Bucket=bucket, Key="notes.txt")
    retried = application.run("starter.py", "retry", saga, "create_bucket#1", "--who", "anna")
    assert retried.code == 0, retried
    assert (
        "undone: every step that took effect was taken back"
        in application.run("starter.py", "show", saga).out
    )
    world = application.world()
    assert bucket not in world.buckets
    told = [str(message.body.get("text")) for message in world.messages]
    alerts = [text for text in told if f"{saga} needs a person" in text]
    assert len(alerts) == 1
    assert "notes.txt" in alerts[0]


def put_when_there(s3: Any, bucket: str) -> None:
    """Put a file into a bucket as soon as it is there."""
    while True:
        try:
            s3.put_object(Bucket=bucket, Key="notes.txt", Body=b"ours")
        except ClientError:
            continue
        return
