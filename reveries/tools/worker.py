"""A sandboxed child process that serves one task: starts it, sends it operations, and ends it."""

import asyncio
import contextlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from reveries.errors import ToolError
from reveries.safe_text import one_line
from reveries.tools.sandbox import Sandbox

log = structlog.get_logger("tools")

_START_SECONDS = 15.0
_ANSWER_SECONDS = 60.0
_END_SECONDS = 10.0
"""From the kill until its end is known: at once, unless it hangs in the system, e.g. in a network mount."""
_SPARE_SECONDS = 15.0
"""A command is ended within the sandbox; the sandbox itself is ended this much later."""
_MOST_ANSWER_BYTES = 32_000_000


@dataclass(frozen=True, slots=True)
class FolderAccess:
    """The folder that tools can access, and whether they may change it."""

    path: Path
    may_write: bool


class Worker:
    """One sandboxed child process. It starts with the first call and ends with `close`."""

    def __init__(
        self,
        command: Callable[[], list[str]],
        name: str,
        *,
        opening: Mapping[str, object] | None = None,
        start_seconds: float = _START_SECONDS,
    ) -> None:
        """`command` builds the command line at each start; `name` appears in messages; `opening` is its first input."""
        self._command = command
        self._name = name
        self._opening = opening
        self._start_seconds = start_seconds
        self._child: asyncio.subprocess.Process | None = None
        self._greeting: dict[str, Any] = {}
        self._lock = asyncio.Lock()

    async def start(self) -> dict[str, Any]:
        """Start the child if it is not running. Return its greeting. Raises ToolError."""
        async with self._lock:
            await self._started()
            return self._greeting

    async def call(self, operation: str, arguments: Mapping[str, object], seconds: float = 0.0) -> Any:
        """Run one operation in the child. Raises ToolError if it refuses or ends."""
        async with self._lock:
            child = await self._started()
            line = json.dumps({"operation": operation, "arguments": dict(arguments)})
            try:
                async with asyncio.timeout(max(_ANSWER_SECONDS, seconds + _SPARE_SECONDS)):
                    answer = await _exchange_lines(child, line)
            except TimeoutError:
                await self._end()
                raise ToolError("It took too long, and was ended.", advice="Do it in smaller parts.") from None
            except (OSError, ValueError, asyncio.IncompleteReadError):
                await self._end()
                raise ToolError(
                    "The sandbox ended in the middle of it: what it did until then is not known.",
                    advice="Look at the folder before it is tried again.",
                ) from None
            except BaseException:
                # Interrupted before the answer: the next call would read this one's answer.
                await self._end()
                raise
        if "refused" in answer:
            raise ToolError(str(answer["refused"]), advice="")
        return answer.get("answer")

    async def close(self) -> None:
        async with self._lock:
            await self._end()

    async def _started(self) -> asyncio.subprocess.Process:
        if self._child is not None:
            if self._child.returncode is None and not _is_killed(self._child):
                return self._child
            await self._end()
        pipe, none = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        command = await asyncio.to_thread(self._command)
        try:
            child = await asyncio.create_subprocess_exec(
                *command, stdin=pipe, stdout=pipe, stderr=none, env={}, limit=_MOST_ANSWER_BYTES
            )
        except OSError as error:
            raise ToolError(f"The sandbox does not start: {error.strerror}.", advice="reveries doctor") from error
        self._child = child
        try:
            async with asyncio.timeout(self._start_seconds):
                self._greeting = await self._greet(child)
        except (TimeoutError, EOFError, ValueError, OSError):
            await self._end()
            raise ToolError(
                f"The sandbox for {self._name} does not start.", advice="Is it there? reveries doctor"
            ) from None
        except BaseException:
            await self._end()
            raise
        return child

    async def _greet(self, child: asyncio.subprocess.Process) -> dict[str, Any]:
        assert child.stdin is not None
        assert child.stdout is not None
        if self._opening is not None:
            child.stdin.write(json.dumps(dict(self._opening)).encode() + b"\n")
            await child.stdin.drain()
        line = await child.stdout.readline()
        if not line:
            raise EOFError
        greeting: dict[str, Any] = json.loads(line)
        if "failed" in greeting:
            raise ToolError(f"{self._name}: {greeting['failed']}", advice=one_line(str(greeting.get("said", "")), 500))
        return greeting

    async def _end(self) -> None:
        """Kill the child and wait for its end. If this is interrupted, the next call goes on with it."""
        child = self._child
        if child is None:
            return
        assert child.stdin is not None
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        child.stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END_SECONDS):
                await child.wait()
        self._child = None


def _is_killed(child: asyncio.subprocess.Process) -> bool:
    """Whether `Worker._end` began with this child."""
    assert child.stdin is not None
    return child.stdin.is_closing()


async def _exchange_lines(child: asyncio.subprocess.Process, line: str) -> dict[str, Any]:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(line.encode() + b"\n")
    await child.stdin.drain()
    answer = await child.stdout.readline()
    if not answer.endswith(b"\n"):
        raise asyncio.IncompleteReadError(answer, None)
    response: dict[str, Any] = json.loads(answer)
    return response


def open_folder_worker(sandbox: Sandbox, folder: FolderAccess) -> Worker:
    """Return a worker for one folder."""
    return Worker(lambda: sandbox.command(folder.path, may_write=folder.may_write), str(folder.path))
