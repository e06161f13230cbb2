"""The server behind `reveries web`: one page, its static files, and a web socket and a process for each window.

The server itself does not talk to the daemon; each window's process is a client like any other.
"""

import asyncio
import contextlib
import hmac
import secrets
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final

import msgspec
import textual_serve
from aiohttp import WSMsgType, web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from reveries.api_keys import remove_secrets
from reveries.client.web.access import AccessRules

MOST_WINDOWS: Final = 8
_WIDEST: Final = 500
_LONGEST_MESSAGE_BYTES: Final = 4_000_000
_STATIC: Final = Path(textual_serve.__file__).parent / "static"
_FILES: Final = (
    "css/xterm.css",
    "js/textual.js",
    "fonts/RobotoMono-VariableFont_wght.ttf",
    "fonts/RobotoMono-Italic-VariableFont_wght.ttf",
)
"""The files that the page loads; no other file of the folder is served."""
_PASTE: Final = (
    "paste it into the address bar, because after a click on another page the browser does not send its cookie"
)
_NO_TOKEN: Final = (
    f"Open the whole address that reveries web printed: it has the token. If this browser is in already, {_PASTE}."
)
_USED: Final = (
    f"This link was used already: it admits one browser, once. If that was this browser, {_PASTE}. For another, "
    "get a link in another terminal: reveries web --port 0. If it was not you who used it, stop this server with "
    "Ctrl+C where it runs."
)
_PREFETCHED: Final = "This page cannot be prefetched."
_HEARTBEAT_SECONDS: Final = 15.0
_CLOSE_SECONDS: Final = 3.0
_REAP_SECONDS: Final = 10.0
"""Within these, a killed process is reported as ended, also on a busy machine."""

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class _TerminalProcess(AppService):
    """The process of one window. It may write to its window and end; requests to open a URL or file are ignored."""

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "reveries.client.tui.browser_terminal",
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=remove_secrets(self._build_environment(width=width, height=height)),
            # `-m` searches the working folder first, so that has to be where this package is.
            cwd=Path(__file__).parents[3],
        )
        assert process.stdin is not None
        self._process, self._stdin = process, process.stdin
        return process

    async def shut_down(self) -> None:
        """Ask the process to exit; kill it if it does not, or if this is cancelled: none outlives its window."""
        process, reading = self._process, self._task
        if process is None or reading is None:
            return
        try:
            with contextlib.suppress(TimeoutError, OSError):  # It may have ended by itself.
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await self.send_meta({"type": "quit"})
                    self.stdin.close()
                    await asyncio.wait({reading})  # It ends with the output, or where the window is closed.
                    await process.communicate()
        finally:
            await _reap(process, reading)

    async def on_meta(self, data: bytes) -> None:
        if msgspec.json.decode(data, type=dict[str, Any]).get("type") == "exit":
            await self.remote_close()

    async def on_packed(self, payload: bytes) -> None:
        return


async def _reap(process: Process, reading: asyncio.Task[None]) -> None:
    """Kill a process unless it has ended, and read what is left of its output: while a pipe is full, the end of the
    process is not reported."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    reading.cancel()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_REAP_SECONDS):
            await asyncio.gather(reading, return_exceptions=True)
            await process.communicate()


@dataclass(frozen=True, eq=False)
class _Window:
    """A window while it is served."""

    socket: web.WebSocketResponse
    serving: "asyncio.Task[Any] | None"
    ended: asyncio.Event

    async def close(self) -> None:
        """Close the window and wait until its process has ended. What serves it is cancelled if that takes long: the
        browser may have stopped reading."""
        with contextlib.suppress(TimeoutError, OSError, RuntimeError):  # RuntimeError: it is only being opened.
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self.socket.close()
        if not await self._has_ended() and self.serving is not None:
            self.serving.cancel()
            await self._has_ended()

    async def _has_ended(self) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS + _REAP_SECONDS):
                await self.ended.wait()
        return self.ended.is_set()


class WebInterface:
    """The web application for one `Door`."""

    def __init__(self, access: AccessRules) -> None:
        self._access = access
        self._windows: set[_Window] = set()
        self._admitted = ""
        """The cookie of the admitted browser: the first valid one received."""
        folder = resources.files("reveries.client.web")
        self._page = folder.joinpath("page.html").read_text(encoding="utf-8")
        self._style = folder.joinpath("page.css").read_text(encoding="utf-8")
        self._script = folder.joinpath("page.js").read_text(encoding="utf-8")

    def application(self) -> web.Application:
        """Build the application; every route is checked by `_guard`."""
        application = web.Application(middlewares=[self._guard()])
        application.router.add_get("/", self._index)
        application.router.add_get("/page.css", self._css)
        application.router.add_get("/page.js", self._js)
        application.router.add_get("/ws/{key}", self._window)
        application.router.add_get("/static/{name:.+}", self._file)
        application.on_shutdown.append(self._close_windows)
        return application

    def _guard(self) -> Any:
        @web.middleware
        async def guarded(request: web.Request, handler: _Handler) -> web.StreamResponse:
            access = self._access
            is_socket = request.path.startswith("/ws")
            if not access.is_own_host(request.headers.get("Host", "")):
                response: web.StreamResponse = _refuse("This address does not name this server.")
            elif not access.is_own_origin(request.headers.get("Origin"), is_required=is_socket):
                response = _refuse("This request came from a page of another server.")
            elif request.path == "/" and access.has_token(request.query.get("token", "")):
                response = await self._admit(request)
            elif not self._is_admitted(request):
                response = _refuse(_NO_TOKEN)
            else:
                response = await handler(request)
            if not response.prepared:
                response.headers.update(access.headers)
            return response

        return guarded

    async def _admit(self, request: web.Request) -> web.StreamResponse:
        """Answer a visit that has the token with the page and a cookie for this visit. The page's script removes the
        token from the address bar.

        There is no redirect: after a visit that began on another site, the browser would not send the cookie along. The
        token becomes void when the first cookie comes back with the page's own requests: a token found in a browser
        history is then useless, a prefetch does not use it up, and the owner notices if another browser came first. The
        admitted browser may open the link again in another tab, to get the key."""
        if _is_prefetch(request):
            return _refuse(_PREFETCHED)
        if self._is_admitted(request):
            return await self._index(request)
        if self._admitted:
            return _refuse(_USED)
        response = await self._index(request)
        cookie = self._access.sign_cookie(secrets.token_urlsafe(16))
        response.set_cookie(self._access.cookie_name, cookie, httponly=True, samesite="Strict", path="/")
        return response

    def _is_admitted(self, request: web.Request) -> bool:
        """Whether the request comes from the admitted browser. The first valid cookie decides which that is."""
        cookie = request.cookies.get(self._access.cookie_name, "")
        if not self._access.has_cookie(cookie):
            return False
        self._admitted = self._admitted or cookie
        return hmac.compare_digest(cookie.encode(), self._admitted.encode())

    async def _index(self, request: web.Request) -> web.StreamResponse:
        page = self._page.replace("WEBSOCKET", f"ws://{request.headers['Host'].lower()}/ws/")
        return web.Response(text=page, content_type="text/html")

    async def _css(self, _: web.Request) -> web.StreamResponse:
        return web.Response(text=self._style, content_type="text/css")

    async def _js(self, _: web.Request) -> web.StreamResponse:
        return web.Response(text=self._script, content_type="text/javascript")

    async def _file(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        if name not in _FILES:
            raise web.HTTPNotFound(text="There is no such file.", headers=self._access.headers)
        return web.FileResponse(_STATIC / name)

    async def _window(self, request: web.Request) -> web.StreamResponse:
        if not self._access.has_key(request.match_info.get("key", "")):
            return _refuse("A window needs the key that follows the # in the address.")
        if len(self._windows) >= MOST_WINDOWS:
            return _refuse(f"There are {MOST_WINDOWS} windows already.", 503)
        socket = web.WebSocketResponse(heartbeat=_HEARTBEAT_SECONDS, max_msg_size=_LONGEST_MESSAGE_BYTES)
        socket.headers.update(self._access.headers)
        window = _Window(socket, asyncio.current_task(), asyncio.Event())
        self._windows.add(window)
        try:
            await socket.prepare(request)
            await _serve(
                socket, _parse_cells(request.query.get("width"), 80), _parse_cells(request.query.get("height"), 24)
            )
        finally:
            self._windows.discard(window)
            window.ended.set()
        return socket

    async def _close_windows(self, _: web.Application) -> None:
        """Close all windows, within half a minute at worst: the server itself does not wait for what serves them."""
        async with asyncio.TaskGroup() as tasks:
            for window in self._windows:
                tasks.create_task(window.close(), name="window-closing")


async def _serve(socket: web.WebSocketResponse, width: int, height: int) -> None:
    """Run a process behind the socket until the browser closes it or the process ends."""
    terminal = _TerminalProcess(
        "",
        write_bytes=socket.send_bytes,
        write_str=socket.send_str,
        close=_socket_closer(socket),
        download_manager=DownloadManager(),
    )
    try:
        await terminal.start(width, height)
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                await _handle_browser_message(terminal, socket, message.data)
    finally:
        await terminal.shut_down()


async def _handle_browser_message(terminal: AppService, socket: web.WebSocketResponse, text: str) -> None:
    """Handle a message of the page; anything unknown is ignored."""
    try:
        kind, *rest = msgspec.json.decode(text, type=list[Any])
    except (msgspec.DecodeError, ValueError, RecursionError):
        return
    data = rest[0] if rest else None
    match kind, data:
        case "stdin", str():
            await terminal.send_bytes(data.encode("utf-8", "replace"))
        case "resize", {"width": width, "height": height}:
            await terminal.set_terminal_size(_parse_cells(width, 80), _parse_cells(height, 24))
        case "ping", str() | int() | float():
            await socket.send_json(["pong", data])
        case "blur", _:
            await terminal.blur()
        case "focus", _:
            await terminal.focus()
        case _:
            return


def _socket_closer(socket: web.WebSocketResponse) -> Callable[[], Awaitable[None]]:
    async def close() -> None:
        await socket.close()

    return close


def _is_prefetch(request: web.Request) -> bool:
    """Whether the request is a prefetch or preview, not a visit."""
    purposes = " ".join(request.headers.get(name, "") for name in ("Sec-Purpose", "Purpose", "X-Moz"))
    return request.method != "GET" or "prefetch" in purposes.lower()


def _parse_cells(value: object, otherwise: int) -> int:
    try:
        return max(1, min(_WIDEST, int(str(value))))
    except ValueError:
        return otherwise


def _refuse(why: str, status: int = 403) -> web.Response:
    return web.Response(status=status, text=why + "\n")


@contextlib.asynccontextmanager
async def run_server(make_access: Callable[[int], AccessRules], host: str, port: int) -> AsyncIterator[AccessRules]:
    """Run the server within the context; `port` 0 takes a free one. Raises OSError if it cannot listen."""
    listening = await asyncio.get_running_loop().create_server(asyncio.Protocol, host, port)
    number = listening.sockets[0].getsockname()[1]
    listening.close()
    await listening.wait_closed()
    access = make_access(number)
    runner = web.AppRunner(WebInterface(access).application(), access_log=None, shutdown_timeout=_CLOSE_SECONDS)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, number).start()
        yield access
    finally:
        await runner.cleanup()


async def serve_until_stopped(
    make_access: Callable[[int], AccessRules], host: str, port: int, tell: Callable[[AccessRules], None]
) -> None:
    """Serve until Ctrl+C or SIGTERM. `tell` is called once it listens."""
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with run_server(make_access, host, port) as access:
        tell(access)
        await stopped.wait()
