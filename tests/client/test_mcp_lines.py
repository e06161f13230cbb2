"""Every line that a program sends and that asks for an answer gets one, over a real pipe."""

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from reveries.client.mcp.stdio_wire import read_line
from reveries.config import Home
from tests.client.command_line import environment

_SECONDS = 60.0


class Program:
    """A program at the other end of the pipes."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._answers: queue.Queue[dict[str, Any]] = queue.Queue()
        threading.Thread(target=self._read, name="answers", daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for row in self._process.stdout:
            self._answers.put(json.loads(row))

    def send(self, line: bytes | dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write((json.dumps(line).encode() if isinstance(line, dict) else line) + b"\n")
        self._process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        return self._answers.get(timeout=_SECONDS)


@contextmanager
def serving(home: Home) -> Iterator[Program]:
    process = subprocess.Popen(
        [sys.executable, "-m", "reveries", "mcp", "serve"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(home),
    )  # fmt: skip
    try:
        program = Program(process)
        program.send(
            _request(
                1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "p", "version": "1"}
            )
        )
        assert program.receive()["id"] == 1
        program.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        yield program
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(_SECONDS)
        assert process.stdout is not None
        process.stdout.close()


def _request(number: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def test_each_line_that_asks_is_answered_with_its_id_or_null_and_the_next_one_too(home: Home) -> None:
    asked: list[tuple[bytes, object]] = [
        (b"hello", None),
        (b'{"jsonrpc":"2.0","id":7', None),
        (b"[]", None),
        (b"\xff\xfe", None),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', None),
        (b'{"jsonrpc":"2.0","id":8}', 8),
        (b'{"jsonrpc":"1.0","id":"nine","method":"ping"}', "nine"),
        (b'{"jsonrpc":"2.0","id":10,"method":"ping","params":5}', 10),
        (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', None),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None),
        (b"[" * 100_000, None),
    ]
    with serving(home) as program:
        for line, number in asked:
            program.send(line)
            answer = program.receive()
            assert (answer["id"], "error" in answer) == (number, True), line[:80]
        program.send(_request(11, "tools/call", name="recall", arguments={"query": "\ud83d"}))
        answer = program.receive()
        assert answer["id"] == 11
        assert "asleep" in answer["result"]["content"][0]["text"]
        program.send(b"")
        program.send(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}')
        program.send(_request(12, "ping"))
        assert program.receive()["id"] == 12


@pytest.mark.parametrize("line", ['{"jsonrpc":"2.0","method":"x","params":7}', '{"jsonrpc":"2.0","id":1,"result":5}'])
def test_what_json_rpc_forbids_to_answer_is_not_answered(line: str) -> None:
    assert read_line(line) is None


def test_a_program_that_starts_while_the_mind_is_asleep_gets_its_tools(home: Home) -> None:
    with serving(home) as program:
        program.send(_request(2, "tools/list"))
        tools = {tool["name"]: tool for tool in program.receive()["result"]["tools"]}
        assert {"recall", "get_orientation", "get_tasks", "store_chunk"} <= tools.keys()
        assert tools["recall"]["inputSchema"]["required"] == ["query"]
        program.send(_request(3, "tools/call", name="recall", arguments={"query": "tea"}))
        assert "asleep" in program.receive()["result"]["content"][0]["text"]
