"""The child that serves one folder while a task is worked on, and how it is asked."""

import asyncio
import contextlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from reveries.errors import ToolError
from reveries.tools.sandbox import Sandbox

log = structlog.get_logger("tools")

_START_SECONDS = 15.0
_ANSWER_SECONDS = 60.0
_SPARE_SECONDS = 15.0
"""A command ends by itself in the sandbox; so much later the sandbox is ended."""
_MOST_ANSWER_BYTES = 32_000_000


@dataclass(frozen=True, slots=True)
class FolderAccess:
    """The one folder that tools see, and whether they may change it."""

    path: Path
    may_write: bool


class Worker:
    """One sandboxed child. It starts with the first call, and is gone after `close`."""

    def __init__(self, sandbox: Sandbox, folder: FolderAccess) -> None:
        self._sandbox = sandbox
        self._folder = folder
        self._child: asyncio.subprocess.Process | None = None
        self._lock = asyncio.Lock()

    async def call(self, operation: str, arguments: Mapping[str, object], seconds: float = 0.0) -> Any:
        """One operation of the folder. Raises ToolError: refused, or the child is gone."""
        async with self._lock:
            child = await self._started()
            line = json.dumps({"operation": operation, "arguments": dict(arguments)})
            try:
                async with asyncio.timeout(max(_ANSWER_SECONDS, seconds + _SPARE_SECONDS)):
                    answer = await _exchange(child, line)
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
                # Broken off in mid-answer: the next call would read this one's.
                await asyncio.shield(self._end())
                raise
        if "refused" in answer:
            raise ToolError(str(answer["refused"]), advice="")
        return answer.get("answer")

    async def close(self) -> None:
        async with self._lock:
            await self._end()

    async def _started(self) -> asyncio.subprocess.Process:
        if self._child is not None and self._child.returncode is None:
            return self._child
        command = self._sandbox.command(self._folder.path, may_write=self._folder.may_write)
        pipe, none = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        try:
            child = await asyncio.create_subprocess_exec(
                *command, stdin=pipe, stdout=pipe, stderr=none, env={}, limit=_MOST_ANSWER_BYTES
            )
        except OSError as error:
            raise ToolError(f"The sandbox does not start: {error.strerror}.", advice="reveries doctor") from error
        self._child = child
        try:
            async with asyncio.timeout(_START_SECONDS):
                assert child.stdout is not None
                if not await child.stdout.readline():
                    raise EOFError
        except (TimeoutError, EOFError, OSError):
            await self._end()
            raise ToolError(
                f"The sandbox for {self._folder.path} does not start.", advice="Is the folder there? reveries doctor"
            ) from None
        except BaseException:
            await asyncio.shield(self._end())
            raise
        return child

    async def _end(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        if child.stdin is not None:
            child.stdin.close()
        await child.wait()


async def _exchange(child: asyncio.subprocess.Process, line: str) -> dict[str, Any]:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(line.encode() + b"\n")
    await child.stdin.drain()
    answer = await child.stdout.readline()
    if not answer.endswith(b"\n"):
        raise asyncio.IncompleteReadError(answer, None)
    found: dict[str, Any] = json.loads(answer)
    return found


NewWorker = Callable[[FolderAccess], Worker]
