"""What boto3's errors prove, each raised by the real client at a real socket."""

import socket
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from rescind.evidence import NOTHING, REFUSED, UNKNOWN, Evidence
from rescind.evidence.aws import proves

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


def client(url: str) -> "S3Client":
    return boto3.session.Session().client(
        "s3",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="x",
        aws_secret_access_key="y",
        config=Config(retries={"total_max_attempts": 1}, connect_timeout=0.5, read_timeout=0.5, proxies={}),
    )


def error_of(act: Callable[[], Any]) -> BaseException:
    with pytest.raises((BotoCoreError, ClientError)) as caught:
        act()
    return caught.value


class OneAnswer:
    """A server that reads a request's head and then sends these bytes, or holds the line when there are none."""

    def __init__(self, answer: bytes | None) -> None:
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}"
        self.done = threading.Event()
        self.answer = answer
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        connection, _ = self.listening.accept()
        with connection:
            connection.recv(65536)
            if self.answer is None:
                self.done.wait(10)
            else:
                connection.sendall(self.answer)

    def stop(self) -> None:
        """Let the line go and close."""
        self.done.set()
        self.thread.join(10)
        self.listening.close()


@pytest.fixture
def answering() -> Iterator[Callable[[bytes | None], str]]:
    """Starts a server for one answer and gives its address."""
    servers: list[OneAnswer] = []

    def start(answer: bytes | None) -> str:
        servers.append(OneAnswer(answer))
        return servers[-1].url

    yield start
    for server in servers:
        server.stop()


def reply(status: int, code: str, headers: str = "") -> bytes:
    body = f"<Error><Code>{code}</Code><Message>m</Message></Error>"
    head = f"HTTP/1.1 {status} Status\r\nContent-Type: application/xml\r\nContent-Length: {len(body)}\r\n{headers}"
    return f"{head}Connection: close\r\n\r\n{body}".encode()


ANSWERS: list[tuple[int, str, str, Evidence]] = [
    (400, "InvalidBucketName", "", REFUSED),
    (403, "AccessDenied", "", REFUSED),
    (404, "NoSuchBucket", "", REFUSED),
    (412, "PreconditionFailed", "", REFUSED),
    (400, "Throttling", "", NOTHING),
    (425, "TooEarly", "", NOTHING),
    (429, "TooManyRequests", "Retry-After: 7\r\n", NOTHING.after(7)),
    (400, "RequestTimeout", "", UNKNOWN),
    (408, "RequestTimeout", "", UNKNOWN),
    (409, "OperationAborted", "", UNKNOWN),
    (409, "BucketAlreadyOwnedByYou", "", UNKNOWN),
    (500, "InternalError", "", UNKNOWN),
    (503, "SlowDown", "Retry-After: 2\r\n", UNKNOWN.after(2)),
    (503, "ServiceUnavailable", "", UNKNOWN),
]


@pytest.mark.parametrize(("status", "code", "headers", "evidence"), ANSWERS)
def test_an_answer(
    answering: Callable[[bytes | None], str], status: int, code: str, headers: str, evidence: Evidence
) -> None:
    """The status and the code decide; the wait that the server asks for is kept."""
    url = answering(reply(status, code, headers))
    assert proves(error_of(lambda: client(url).create_bucket(Bucket="abc"))) == evidence


@pytest.mark.parametrize(
    "answer", [None, b"", b"garbage\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n<a"]
)
def test_no_answer(answering: Callable[[bytes | None], str], answer: bytes | None) -> None:
    """A time-out, a connection that is cut after the request, and half an answer prove nothing."""
    url = answering(answer)
    evidence = proves(error_of(lambda: client(url).get_bucket_tagging(Bucket="abc")))
    assert evidence == UNKNOWN


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "http://no-such-host.invalid"])
def test_no_connection(url: str) -> None:
    """Refused, or a name that nobody knows: no request was sent."""
    assert proves(error_of(lambda: client(url).create_bucket(Bucket="abc"))) == NOTHING


def test_a_connection_that_is_not_taken() -> None:
    """A handshake that takes too long proves that no byte of the request was written."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(8)]
        try:
            for each in waiting:
                each.setblocking(False)
                each.connect_ex(full.getsockname())
            url = f"http://127.0.0.1:{full.getsockname()[1]}"
            assert proves(error_of(lambda: client(url).create_bucket(Bucket="abc"))) == NOTHING
        finally:
            for each in waiting:
                each.close()


def test_a_request_that_is_not_even_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong parameters and missing credentials are refused before anything is sent."""
    assert proves(error_of(lambda: client("http://127.0.0.1:1").create_bucket(Bucket=""))) == REFUSED
    for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    nobody = boto3.session.Session().client("s3", endpoint_url="http://127.0.0.1:1", region_name="us-east-1")
    assert proves(error_of(lambda: nobody.create_bucket(Bucket="abc"))) == REFUSED


def test_an_error_of_someone_else() -> None:
    """It is not weighed here."""
    assert proves(ValueError("x")) is None
