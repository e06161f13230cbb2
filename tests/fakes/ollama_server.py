"""Ollama's documented API with a real model behind it: what it is asked goes to a llama.cpp server, what that says
comes back in Ollama's form (NDJSON, counts and durations at the end). No real Ollama was at hand."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass, field

import httpx

Json = dict[str, object]

_HEAD = "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n"


@dataclass
class OllamaServer:
    """`behind` speaks to the llama.cpp server. `url` is for the client of this one."""

    behind: httpx.AsyncClient
    model: str = "small:latest"
    url: str = ""
    asked: list[tuple[str, Json]] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            path, body = await _request(reader)
            self.asked.append((path, body))
            match path:
                case "/api/version":
                    await _answer(writer, {"version": "0.14.0"})
                case "/api/tags":
                    found = {"name": self.model, "model": self.model, "modified_at": "2026-11-01T00:00:00Z", "size": 1}
                    await _answer(writer, {"models": [found]})
                case "/api/chat" if body.get("model") == self.model:
                    await self._until_hung_up(reader, self._chat(body, writer))
                case "/api/chat":
                    await _answer(writer, {"error": f"model '{body.get('model')}' not found"}, "404 Not Found")
                case _:
                    await _answer(writer, {"error": "404 page not found"}, "404 Not Found")
        writer.close()

    async def _until_hung_up(self, reader: asyncio.StreamReader, answering: Coroutine[object, object, None]) -> None:
        """As Ollama does: who hangs up stops the generation."""
        async with asyncio.TaskGroup() as tasks:
            answer = tasks.create_task(answering, name="answer")
            gone = tasks.create_task(reader.read(), name="gone")
            await asyncio.wait([answer, gone], return_when=asyncio.FIRST_COMPLETED)
            answer.cancel()
            gone.cancel()

    async def _chat(self, body: Json, writer: asyncio.StreamWriter) -> None:
        began = time.monotonic_ns()
        writer.write(_HEAD.format(status="200 OK", kind="application/x-ndjson").encode())
        reason, counts = "stop", {"prompt_tokens": 0, "completion_tokens": 0}
        request = self.behind.stream("POST", "/v1/chat/completions", json=_translated(body))
        async with request as response:
            async for line in response.aiter_lines():
                if not line.startswith("data: {"):
                    continue
                chunk = json.loads(line.removeprefix("data: "))
                for choice in chunk.get("choices", []):
                    if text := choice["delta"].get("content"):
                        await self._line(writer, {"message": {"role": "assistant", "content": text}, "done": False})
                    reason = choice.get("finish_reason") or reason
                counts = chunk.get("usage") or counts
        end = {
            "message": {"role": "assistant", "content": ""},
            "done": True,
            "done_reason": reason,
            "total_duration": time.monotonic_ns() - began,
            "prompt_eval_count": counts["prompt_tokens"],
            "eval_count": counts["completion_tokens"],
        }
        await self._line(writer, end)

    async def _line(self, writer: asyncio.StreamWriter, part: Json) -> None:
        whole = {"model": self.model, "created_at": "2026-11-01T00:00:00Z", **part}
        writer.write(json.dumps(whole).encode() + b"\n")
        await writer.drain()


@contextlib.asynccontextmanager
async def ollama_server(behind: httpx.AsyncClient) -> AsyncIterator[OllamaServer]:
    """A server that is there until the block is left."""
    told = OllamaServer(behind)
    server = await asyncio.start_server(told.serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    told.url = f"http://{host}:{port}"
    async with server:
        yield told


def _translated(body: Json) -> Json:
    """Ollama's request in OpenAI's words."""
    options = body.get("options")
    chosen: Json = options if isinstance(options, dict) else {}
    asked: Json = {
        "messages": body["messages"],
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_progress": True,
        "max_tokens": chosen.get("num_predict", -1),
        "temperature": chosen.get("temperature", 0.8),
        "stop": chosen.get("stop", []),
    }
    if isinstance(body.get("format"), dict):
        asked["response_format"] = {"type": "json_schema", "json_schema": {"schema": body["format"]}}
    return asked


async def _request(reader: asyncio.StreamReader) -> tuple[str, Json]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    length = next((int(line.split(":")[1]) for line in head if line.lower().startswith("content-length:")), 0)
    body = await reader.readexactly(length)
    return head[0].split()[1], json.loads(body) if body else {}


async def _answer(writer: asyncio.StreamWriter, body: Json, status: str = "200 OK") -> None:
    writer.write(_HEAD.format(status=status, kind="application/json").encode() + json.dumps(body).encode())
    await writer.drain()
