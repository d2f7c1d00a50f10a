"""An OpenAI-compatible model on a real socket, which answers what a test has written."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route


@dataclass(frozen=True, slots=True)
class Http:
    """An answer that is none of a model: a status, a body, and how long to wait before the next try."""

    status: int
    body: str = "{}"
    wait: str | None = None


@dataclass(frozen=True, slots=True)
class Words:
    """An answer in words, where a call of the tool was asked for."""

    text: str


@dataclass(frozen=True, slots=True)
class Raw:
    """A call of the tool whose arguments are this text."""

    arguments: str


@dataclass(frozen=True, slots=True)
class Held:
    """An answer that is given when it is set free."""

    answer: Any
    free: threading.Event


HANG = "hang"


@dataclass
class Scripted:
    """The model: the answers that are left, and every request that it got."""

    answers: list[Any] = field(default_factory=list[Any])
    asked: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    keys: list[str] = field(default_factory=list[str])
    url: str = ""

    def environment(self) -> dict[str, str]:
        """What a command's environment says of it."""
        return {"RESCIND_MODEL": "openai-chat:scripted", "OPENAI_BASE_URL": self.url, "OPENAI_API_KEY": KEY}

    def said(self, number: int) -> dict[str, Any]:
        """What the user's message of a request says, as the data that it is."""
        told = [each["content"] for each in self.asked[number]["messages"] if each["role"] == "user"]
        assert len(told) == 1
        content = told[0]
        text = content if isinstance(content, str) else "".join(part["text"] for part in content)
        return dict(json.loads(text))

    async def complete(self, request: Request) -> Response:
        """Answer as `POST /chat/completions` does."""
        body = await request.json()
        self.asked.append(body)
        self.keys.append(request.headers.get("authorization", ""))
        answer = self.answers.pop(0) if self.answers else Http(500)
        if answer == HANG:
            while not await request.is_disconnected():  # noqa: ASYNC110  (nothing tells of a client that went)
                await asyncio.sleep(0.05)
            return Response()
        if isinstance(answer, Held):
            while not answer.free.is_set():  # noqa: ASYNC110  (another thread sets it free)
                await asyncio.sleep(0.05)
            answer = answer.answer
        if isinstance(answer, Http):
            headers = {"retry-after": answer.wait} if answer.wait else None
            return Response(answer.body, answer.status, headers, "application/json")
        if isinstance(answer, Words):
            return _completion({"content": answer.text}, "stop")
        arguments = answer.arguments if isinstance(answer, Raw) else json.dumps(answer)
        name = body["tools"][0]["function"]["name"]
        call = {"id": "call-1", "type": "function", "function": {"name": name, "arguments": arguments}}
        return _completion({"content": None, "tool_calls": [call]}, "tool_calls")


KEY = "sk-not-to-be-told-to-anybody"


def _completion(message: dict[str, Any], reason: str) -> Response:
    choice = {"index": 0, "finish_reason": reason, "message": {"role": "assistant", **message}}
    usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
    plain = {"id": "chat-1", "object": "chat.completion", "created": 1, "model": "scripted"}
    return JSONResponse({**plain, "choices": [choice], "usage": usage})


@contextmanager
def scripted_model() -> Generator[Scripted]:
    """A model on a port of its own, for as long as the block runs."""
    model = Scripted()
    app = Starlette(routes=[Route("/v1/chat/completions", model.complete, methods=["POST"])])
    config = uvicorn.Config(app, port=0, log_level="warning", timeout_graceful_shutdown=1, lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        model.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/v1"
        yield model
    finally:
        server.should_exit = True
        thread.join()
