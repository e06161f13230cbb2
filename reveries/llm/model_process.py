"""One running model server: the child process, its HTTP client, and its end.

`embedded.EmbeddedModel` decides when to start and stop it.
"""

import asyncio
import contextlib
import os
import secrets
import sys
from pathlib import Path

import httpx
import msgspec

from reveries.api_keys import remove_secrets
from reveries.config import SOCKET_PATH_LIMIT_BYTES
from reveries.errors import ModelUnavailableError
from reveries.llm import embedded_server
from reveries.llm.embedded_server import ServerOptions
from reveries.llm.limits import CappedTransport

LOAD_SECONDS = 180.0
"""Until the child reports its address: a gigabyte read from a slow disk."""

HEALTHY_SECONDS = 15.0
"""From listening to healthy: until then requests may be dropped."""

STOP_SECONDS = 10.0
"""From the kill until its end is known: at once, except on a machine that is short of memory or hardly responds."""

SLOT_FILE_SECONDS = 10.0
"""To save or restore a slot: 30 MB for each thousand tokens of the default model."""

_HEALTH_POLL_SECONDS = 0.05


class _Ready(msgspec.Struct, frozen=True):
    ready: bool
    address: str


class ModelProcess:
    """A model server that answered once. `client` speaks HTTP to it; every call has its own connection."""

    def __init__(self, process: asyncio.subprocess.Process, client: httpx.AsyncClient) -> None:
        self._process = process
        self.client = client

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.returncode is None

    def use_cores(self, *, is_awaited: bool) -> None:
        """Let the child use all cores of this process if a person waits, else half of them.

        Does nothing where that is not possible (macOS), and for a child that has ended.
        """
        if not hasattr(os, "sched_setaffinity"):
            return
        cores = sorted(os.sched_getaffinity(0))
        cores = cores if is_awaited else cores[: max(1, len(cores) // 2)]
        with contextlib.suppress(OSError):
            for thread in Path(f"/proc/{self.pid}/task").iterdir():
                os.sched_setaffinity(int(thread.name), cores)

    async def save_slot(self, slot: int, name: str) -> bool:
        """Save what `slot` has read under `name` in the kept folder. Return whether that worked."""
        return await self._use_slot_file(slot, "save", name)

    async def restore_slot(self, slot: int, name: str) -> bool:
        """Load what was saved under `name` into `slot`. Return whether that worked."""
        return await self._use_slot_file(slot, "restore", name)

    async def _use_slot_file(self, slot: int, action: str, name: str) -> bool:
        with contextlib.suppress(httpx.HTTPError, TimeoutError):
            async with asyncio.timeout(SLOT_FILE_SECONDS):
                answer = await self.client.post(f"/slots/{slot}?action={action}", json={"filename": name})
                return answer.status_code == httpx.codes.OK
        return False

    async def has_ended(self, within_seconds: float) -> bool:
        """Whether the process ends within `within_seconds`: a broken connection is often the first sign."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_seconds):
                await self._process.wait()
        return not self.is_running

    async def aclose(self) -> None:
        """Kill the process (it owns nothing) and reap it, so that no zombie is left. Idempotent."""
        try:
            await self.client.aclose()
        finally:
            await _kill(self._process)


async def start_model_process(
    weights: Path,
    socket: Path,
    *,
    context_tokens: int,
    slots: int,
    threads: int,
    batch_tokens: int,
    niceness: int,
    wire_bytes: int,
    kept_folder: str = "",
) -> ModelProcess:
    """Start a server for `weights` and wait until it is healthy. Raises ModelUnavailableError; then nothing is left.

    It listens on `socket`, or on loopback behind a random key where a unix socket is not possible. A response of more
    than `wire_bytes` is cut off with an error.
    """
    options = ServerOptions(
        model=str(weights),
        socket=str(socket) if len(os.fsencode(socket)) <= SOCKET_PATH_LIMIT_BYTES else "",
        api_key=secrets.token_urlsafe(32),
        context_tokens=context_tokens,
        slots=slots,
        threads=threads,
        batch_tokens=batch_tokens,
        niceness=niceness,
        kept_folder=kept_folder,
    )
    process = await _spawn()
    try:
        ready = await _handshake(process, options, weights)
        client = _create_client(ready.address, options.api_key, wire_bytes)
        model = ModelProcess(process, client)
    except BaseException:
        await _kill(process)
        raise
    try:
        await _until_healthy(model, weights)
    except BaseException:
        await model.aclose()
        raise
    return model


async def _spawn() -> asyncio.subprocess.Process:
    """Start the child with unbuffered pipes in our process group, so that it ends with the group."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # by its path, and without its folder on the module path: it works wherever the daemon was started
        embedded_server.__file__,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=remove_secrets(os.environ),
    )


async def _handshake(process: asyncio.subprocess.Process, options: ServerOptions, weights: Path) -> _Ready:
    assert process.stdin is not None  # both are pipes, see _spawn
    assert process.stdout is not None
    try:
        process.stdin.write(msgspec.json.encode(options) + b"\n")
        async with asyncio.timeout(LOAD_SECONDS):
            await process.stdin.drain()
            return msgspec.json.decode(await process.stdout.readline(), type=_Ready)
    except TimeoutError as error:
        raise ModelUnavailableError(
            f"The model {weights.name} was not loaded within {LOAD_SECONDS:.0f} seconds.",
            advice="Check the machine's free memory, or choose a smaller model: reveries models",
        ) from error
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        raise ModelUnavailableError(
            f"The model {weights.name} could not be loaded: its process ended.",
            advice="It may be damaged or too large for the free memory: reveries models pull verifies it again.",
        ) from error


def _create_client(address: str, api_key: str, wire_bytes: int) -> httpx.AsyncClient:
    """Return a client for `address` ("unix:///path" or "http://host:port") that uses no proxy of the environment."""
    is_unix = address.startswith("unix://")
    # The server drops kept-alive connections: each request gets its own, which costs nothing on a unix socket.
    transport = httpx.AsyncHTTPTransport(
        uds=address.removeprefix("unix://") if is_unix else None,
        limits=httpx.Limits(max_keepalive_connections=0),
        trust_env=False,
    )
    return httpx.AsyncClient(
        transport=CappedTransport(transport, wire_bytes),
        base_url="http://localhost" if is_unix else address,
        headers={"Authorization": f"Bearer {api_key}", "Connection": "close"},
        timeout=httpx.Timeout(None, connect=5.0),  # how long a call may take is bounded where it is made
        trust_env=False,
    )


async def _until_healthy(model: ModelProcess, weights: Path) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(HEALTHY_SECONDS):
            while model.is_running:
                with contextlib.suppress(httpx.TransportError):
                    if (await model.client.get("/health")).status_code == httpx.codes.OK:
                        return
                await asyncio.sleep(_HEALTH_POLL_SECONDS)
    raise ModelUnavailableError(
        f"The model {weights.name} was loaded but does not answer.", advice="The next call starts it again."
    )


async def _kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
    if process.stdin is not None:
        process.stdin.close()
