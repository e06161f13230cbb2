"""The web interface: access control, what is loaded, and that it is the same conversation. Real HTTP and sockets; in
the system tier also a real Chromium."""

import asyncio
import base64
import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
from aiohttp.test_utils import make_mocked_request
from aiohttp.web import Response, WebSocketResponse
from textual_serve.download_manager import DownloadManager

from reveries import protocol
from reveries.client.web import server
from reveries.client.web.access import AccessRules, loopback_address
from reveries.client.web.server import MOST_WINDOWS, WebInterface, run_server
from reveries.config import Home
from reveries.errors import UsageError
from tests.client.command_line import reveries
from tests.fakes.daemon import NOW, FakeMind, Script, awake, awake_in_thread

TOKEN, STAMP, KEY = "token-of-the-test", "stamp-of-the-test", "key-of-the-test"
COOKIE = AccessRules("", 0, TOKEN, STAMP, KEY).sign_cookie("visit-of-the-test")
_DRAWN_BYTES = 20_000
"""A screenshot of an empty page has fewer bytes."""
_CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def access(port: int) -> AccessRules:
    return AccessRules("127.0.0.1", port, TOKEN, STAMP, KEY)


@contextlib.asynccontextmanager
async def served(home: Home, script: Script | None = None) -> AsyncIterator[tuple[AccessRules, FakeMind]]:
    """A fake daemon and the web server. The processes of the windows inherit the home."""
    before = os.environ.get("REVERIES_HOME")
    os.environ["REVERIES_HOME"] = str(home.path)
    try:
        async with awake(home, script) as mind, run_server(access, "127.0.0.1", 0) as opened:
            yield opened, mind
    finally:
        if before is None:
            del os.environ["REVERIES_HOME"]
        else:
            os.environ["REVERIES_HOME"] = before


def base(opened: AccessRules) -> str:
    return f"http://127.0.0.1:{opened.port}"


def sign_cookie(opened: AccessRules) -> dict[str, str]:
    return {"Cookie": f"{opened.cookie_name}={COOKIE}"}


# --- who may come in -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.7", "::", "8.8.8.8", "example.org", ""])
def test_no_address_that_others_could_reach_is_listened_on(host: str, home: Home) -> None:
    with pytest.raises(UsageError):
        loopback_address(host)
    with awake_in_thread(home):
        assert reveries(home, "web", "--host", host).code == 2


def test_a_loopback_address_is_taken() -> None:
    assert [loopback_address(host) for host in ("localhost", "127.0.0.1", "127.0.0.2", "::1")] == [
        "127.0.0.1", "127.0.0.1", "127.0.0.2", "::1",
    ]  # fmt: skip


async def test_the_token_is_exchanged_for_a_cookie_and_a_page_that_takes_it_out_of_the_address(home: Home) -> None:
    async with asyncio.timeout(300), served(home) as (opened, _), aiohttp.ClientSession() as browser:
        async with browser.get(opened.address, allow_redirects=False) as answer:
            assert answer.status == 200  # A Strict cookie is not sent after a redirect of a cross-site visit.
            assert "/page.js" in await answer.text()
            cookie = answer.headers["Set-Cookie"]
            assert all(part in cookie for part in ("HttpOnly", "SameSite=Strict", "Path=/"))
            assert STAMP not in cookie
        async with browser.get(base(opened) + "/page.js", headers={"Cookie": cookie.partition(";")[0]}) as answer:
            assert 'history.replaceState(null, "", "/");\n' in await answer.text()


async def test_what_the_page_loads_is_its_own_and_nothing_elsewhere(home: Home) -> None:
    async with asyncio.timeout(300), served(home) as (opened, _), aiohttp.ClientSession() as browser:
        for path in ("/", "/page.css", "/static/js/textual.js"):
            async with browser.get(base(opened) + path, headers=sign_cookie(opened)) as answer:
                assert answer.status == 200
                policy = answer.headers["Content-Security-Policy"]
                assert "default-src 'none'" in policy
                assert "frame-ancestors 'none'" in policy
                assert "unsafe-eval" not in policy
                assert answer.headers["Cache-Control"] == "no-store"
                if path != "/static/js/textual.js":
                    text = await answer.text()
                    assert "https://" not in text
                    assert "//fonts" not in text


@pytest.mark.requirement("F4")
async def test_the_link_lets_one_browser_in_once_and_says_so_to_the_next(home: Home) -> None:
    async with asyncio.timeout(300), served(home) as (opened, mind), aiohttp.ClientSession() as browser:
        link = opened.address.partition("#")[0]
        for _ in range(2):  # A visit whose cookie never comes back does not use the token up.
            async with browser.get(link) as answer:
                late = {"Cookie": answer.headers["Set-Cookie"].partition(";")[0]}
                assert answer.status == 200
            browser.cookie_jar.clear()
        async with browser.get(link) as answer:
            mine = {"Cookie": answer.headers["Set-Cookie"].partition(";")[0]}
        browser.cookie_jar.clear()
        async with browser.get(base(opened) + "/page.js", headers=mine) as answer:
            assert answer.status == 200
        for cookie in ({}, late):
            async with browser.get(link, headers=cookie) as answer:
                assert (answer.status, "Set-Cookie" in answer.headers) == (403, False)
                told = await answer.text()
                assert "used already" in told
                assert "the address bar" in told
                assert "reveries web --port 0" in told
            async with browser.get(base(opened) + "/page.js", headers=cookie) as answer:
                assert answer.status == 403
                assert "the address bar" in await answer.text()
        async with browser.get(link, headers=mine) as answer:
            assert (answer.status, "Set-Cookie" in answer.headers) == (200, False)  # Another tab, to get the key.
        assert not mind.received


@pytest.mark.requirement("F4")
@pytest.mark.parametrize("name", ["Sec-Purpose", "Purpose", "X-Moz"])
async def test_who_looks_ahead_gets_no_cookie(home: Home, name: str) -> None:
    async with asyncio.timeout(300), served(home) as (opened, _), aiohttp.ClientSession() as browser:
        link = opened.address.partition("#")[0]
        for method, headers in (("GET", {name: "prefetch;prerender"}), ("HEAD", {})):
            async with browser.request(method, link, headers=headers) as answer:
                assert (answer.status, "Set-Cookie" in answer.headers) == (403, False)
        async with browser.get(link) as answer:
            assert answer.status == 200


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/", {}),
        ("/?token=wrong", {}),
        ("/ws", {}),
        ("/static/js/textual.js", {}),
        ("/", {"Cookie": "reveries_PORT=wrong"}),
        ("/", {"Cookie": f"reveries_PORT={COOKIE}", "Host": "evil.example"}),
        (f"/?token={TOKEN}", {"Host": "evil.example:PORT"}),
        ("/", {"Cookie": f"reveries_PORT={COOKIE}", "Origin": "http://evil.example"}),
        (f"/ws/{KEY}", {"Cookie": f"reveries_PORT={COOKIE}"}),
        (f"/ws/{KEY}", {"Cookie": f"reveries_PORT={COOKIE}", "Origin": "null"}),
        (f"/ws/{KEY}", {"Cookie": f"reveries_PORT={COOKIE}", "Origin": "http://127.0.0.1:1"}),
        (f"/ws/{KEY}", {"Cookie": f"reveries_PORT={COOKIE}", "Origin": "https://127.0.0.1:PORT"}),
        (f"/ws/{KEY}", {"Origin": "http://127.0.0.1:PORT"}),
    ],
)
async def test_whoever_lacks_the_token_or_comes_from_elsewhere_is_refused(
    home: Home, path: str, headers: dict[str, str]
) -> None:
    async with asyncio.timeout(300), served(home) as (opened, mind), aiohttp.ClientSession() as browser:
        named = {name: value.replace("PORT", str(opened.port)) for name, value in headers.items()}
        async with browser.get(base(opened) + path, headers=named, allow_redirects=False) as answer:
            assert answer.status == 403
            assert "Content-Security-Policy" in answer.headers
            assert COOKIE not in str(answer.headers)
        assert not mind.received


@pytest.mark.requirement("F4")
async def test_a_cookie_that_another_port_was_handed_opens_no_window(home: Home) -> None:
    """A browser sends the cookie to every port of the address, where another program can forge the other headers."""
    async with asyncio.timeout(300), served(home) as (opened, mind), aiohttp.ClientSession() as browser:
        headers = sign_cookie(opened) | {"Origin": base(opened)}
        for key in ("", "/", "/wrong", f"/{COOKIE}", f"/{TOKEN}", f"?key={KEY}"):
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await browser.ws_connect(f"{base(opened)}/ws{key}", headers=headers)
            assert refused.value.status in (403, 404)
        async with browser.get(base(opened) + "/", headers=sign_cookie(opened)) as answer:
            assert KEY not in await answer.text() + str(answer.headers)
        assert not mind.received


async def test_no_other_file_is_given_out(home: Home) -> None:
    async with asyncio.timeout(300), served(home) as (opened, _), aiohttp.ClientSession() as browser:
        for name in ("images/background.png", "..%2f..%2fserver.py", "../server.py", "js/", "js%2f..%2f..%2fserver.py"):
            async with browser.get(f"{base(opened)}/static/{name}", headers=sign_cookie(opened)) as answer:
                assert answer.status == 404


# --- the conversation ------------------------------------------------------------------------------------------------


async def read_until(socket: aiohttp.ClientWebSocketResponse, holds: Callable[[str], bool]) -> str:
    """Read what the window is sent until `holds` is true."""
    seen = ""
    while not holds(seen):
        message = await socket.receive(timeout=300)
        if message.type is aiohttp.WSMsgType.BINARY:
            seen += message.data.decode("utf-8", "replace")
        elif message.type in (aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSING):
            raise AssertionError(f"closed: {seen[-400:]!r}")
    return seen


async def read_to_end(socket: aiohttp.ClientWebSocketResponse) -> None:
    while not socket.closed:
        await socket.receive(timeout=300)


async def test_a_window_is_the_same_conversation_and_survives_what_is_no_message(home: Home) -> None:
    before = Script(turns=[protocol.SaidTurn("t0", "Ada", True, "quinces", NOW, False)])
    async with asyncio.timeout(300), served(home, before) as (opened, mind), aiohttp.ClientSession() as browser:
        headers = sign_cookie(opened) | {"Origin": base(opened)}
        address = f"{base(opened)}/ws/{KEY}?width=100&height=30"
        async with browser.ws_connect(address, headers=headers) as socket:
            await read_until(socket, lambda seen: "quinces" in seen)  # It is attached, so that what is entered is sent.
            for wrong in ("", "[]", "null", '{"a":1}', '["stdin", 7]', '["resize", {"width": "x"}]', "[" * 9000):
                await socket.send_str(wrong)
            await socket.send_bytes(b"\x00\x01")
            await socket.send_str(json.dumps(["ping", "7"]))
            await socket.send_str(json.dumps(["resize", {"width": 120, "height": 10**9}]))
            await socket.send_str(json.dumps(["resize", {"width": 90, "height": 28}]))
            await socket.send_str(json.dumps(["stdin", "Good morning from a browser"]))
            await read_until(socket, lambda seen: "browser" in seen)
            await socket.send_str(json.dumps(["stdin", "\r"]))
            await read_until(socket, lambda _: bool(mind.requests(protocol.Say)))
            [said] = mind.requests(protocol.Say)
            assert isinstance(said, protocol.Say)
            assert said.text == "Good morning from a browser"
            await socket.send_str(json.dumps(["stdin", "\x04"]))
            await read_to_end(socket)


async def test_no_process_of_a_window_outlives_the_server_however_little_time_it_has(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes: list[asyncio.subprocess.Process] = []
    begin = server._TerminalProcess._open_app_process

    async def note(self: server._TerminalProcess, width: int, height: int) -> asyncio.subprocess.Process:
        processes.append(await begin(self, width, height))
        return processes[-1]

    monkeypatch.setattr(server._TerminalProcess, "_open_app_process", note)
    monkeypatch.setattr(server, "_CLOSE_SECONDS", 0.001)
    script = Script(turns=[protocol.SaidTurn("t0", "Ada", True, "quinces", NOW, False)])
    async with asyncio.timeout(300), aiohttp.ClientSession() as browser, asyncio.TaskGroup() as tasks:
        async with served(home, script) as (opened, _):
            headers = sign_cookie(opened) | {"Origin": base(opened)}
            socket = await browser.ws_connect(f"{base(opened)}/ws/{KEY}", headers=headers)
            await read_until(socket, lambda seen: "quinces" in seen)
            tasks.create_task(read_to_end(socket), name="browser")
        assert [process.returncode is not None for process in processes] == [True]


_FULL_PIPES = """
import sys, time
sys.stdout.buffer.write(b"__GANGLION__\\n" + (b"D" + (60_000).to_bytes(4, "big") + bytes(60_000)) * 20)
time.sleep(3600)
"""


async def test_a_process_whose_output_nobody_reads_is_ended_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async def begin(self: server._TerminalProcess, width: int, height: int) -> asyncio.subprocess.Process:
        pipe = subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _FULL_PIPES, stdin=pipe, stdout=pipe, stderr=pipe
        )
        self._stdin = self._process.stdin
        return self._process

    stalled, never = asyncio.Event(), asyncio.Event()

    async def write(_: bytes | str) -> None:
        stalled.set()
        await never.wait()

    async def close() -> None: ...

    monkeypatch.setattr(server._TerminalProcess, "_open_app_process", begin)
    monkeypatch.setattr(server, "_CLOSE_SECONDS", 0.2)
    terminal = server._TerminalProcess(
        "", write_bytes=write, write_str=write, close=close, download_manager=DownloadManager()
    )
    async with asyncio.timeout(300):
        await terminal.start(80, 24)
        await stalled.wait()
        await terminal.shut_down()
    assert terminal._process is not None
    assert terminal._process.returncode is not None


async def test_there_are_only_so_many_windows() -> None:
    site = WebInterface(access(1))
    site._windows.update(server._Window(WebSocketResponse(), None, asyncio.Event()) for _ in range(MOST_WINDOWS))
    answer = await site._window(make_mocked_request("GET", "/ws", match_info={"key": KEY}))
    assert isinstance(answer, Response)
    assert answer.status == 503


def test_it_says_where_it_is_and_that_a_sleeping_mind_must_be_woken(home: Home) -> None:
    ran = reveries(home, "web", "--port", "0")
    assert ran.code != 0
    assert "asleep" in ran.err


# --- a real browser --------------------------------------------------------------------------------------------------


class Chromium:
    """A page of a headless browser over its debugging protocol: its requests, errors and content."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0
        self.asked: list[str] = []
        self.complaints: list[str] = []

    async def do(self, method: str, **params: object) -> dict[str, Any]:
        """Send one command and return its result; events in between are recorded."""
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": params})
        while True:
            told = await self._socket.receive_json(timeout=300)
            match told.get("method"):
                case "Network.requestWillBeSent":
                    self.asked.append(told["params"]["request"]["url"])
                case "Network.webSocketCreated":
                    self.asked.append(told["params"]["url"])
                case "Log.entryAdded":
                    self.complaints.append(told["params"]["entry"]["text"])
                case None if told.get("id") == self._number:
                    result: dict[str, Any] = told.get("result", told)
                    return result
                case _:
                    pass

    async def value(self, expression: str) -> Any:
        """Evaluate a JavaScript expression."""
        return (await self.do("Runtime.evaluate", expression=expression))["result"].get("value")


@contextlib.asynccontextmanager
async def chromium(folder: Path) -> AsyncIterator[Chromium]:
    assert _CHROMIUM is not None
    profile = folder / "profile"
    words = [
        _CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
        "--no-first-run", "--disable-component-update", "--disable-sync", "--window-size=1200,800",
        "--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank",
    ]  # fmt: skip
    process = await asyncio.create_subprocess_exec(*words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        port_file = profile / "DevToolsActivePort"
        while not (written := await asyncio.to_thread(_read, port_file)):  # noqa: ASYNC110 - the browser sends no event
            await asyncio.sleep(0.1)
        async with aiohttp.ClientSession() as session:
            while not (address := await _first_page(session, written.split()[0])):  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.1)
            async with session.ws_connect(address, max_msg_size=0) as socket:
                yield Chromium(socket)
    finally:
        process.terminate()
        async with asyncio.timeout(300):
            await process.wait()


def _read(file: Path) -> str:
    """Read the file; empty if it is missing or not written yet."""
    return file.read_text() if file.exists() else ""


async def _first_page(session: aiohttp.ClientSession, port: str) -> str:
    """Return the debugging address of the first page; empty if there is none yet."""
    async with session.get(f"http://127.0.0.1:{port}/json") as answer:
        pages = await answer.json()
    return next((str(page["webSocketDebuggerUrl"]) for page in pages if page["type"] == "page"), "")


def page_that_leads_to(address: str) -> str:
    """Return the address of a page of another site that redirects to `address`."""
    page = f'<meta http-equiv="refresh" content="0;url={address}">'
    return f"data:text/html;base64,{base64.b64encode(page.encode()).decode()}"


@pytest.mark.system
@pytest.mark.parametrize("entrance", [lambda address: address, page_that_leads_to], ids=["typed", "from another site"])
async def test_chromium_draws_the_conversation_and_asks_no_other_host(
    home: Home, tmp_path: Path, entrance: Callable[[str], str]
) -> None:
    turns = [protocol.SaidTurn("t1", "Reverie", False, "**Good morning.** http://evil.example/a", 1.0, False)]
    async with asyncio.timeout(300), served(home, Script(turns=turns)) as (opened, mind), chromium(tmp_path) as page:
        for domain in ("Network", "Log", "Page", "Runtime"):
            await page.do(f"{domain}.enable")
        await page.do("Page.navigate", url=entrance(opened.address))
        is_drawn = "document.body.classList.contains('-first-byte')"
        while not await page.value(is_drawn):  # noqa: ASYNC110
            await asyncio.sleep(0.2)
        while not mind.requests(protocol.AskModels) and not mind.requests(protocol.AskStatus):  # noqa: ASYNC110 - the fake daemon sends no event
            await asyncio.sleep(0.1)
        # The first frame with the conversation: a terminal page has no text that could be queried.
        await asyncio.sleep(6.0)
        picture = b""
        while len(picture) <= _DRAWN_BYTES:  # The test's time limit bounds it.
            await asyncio.sleep(0.1)
            picture = base64.b64decode((await page.do("Page.captureScreenshot"))["data"])
        if keep := os.environ.get("REVERIES_KEEP_PICTURES"):
            await asyncio.to_thread((Path(keep) / "web.png").write_bytes, picture)
        assert await page.value("document.activeElement.className") == "xterm-helper-textarea", "one can type at once"
        assert await page.value("location.href") == f"{base(opened)}/"
        assert await page.value("window.open('http://evil.example')") is None
        assert TOKEN not in str(await page.value("document.documentElement.outerHTML"))
        assert COOKIE not in str(await page.value("document.cookie"))
        assert await page.value("sessionStorage.getItem('key')") == KEY
        hosts = {urlsplit(one).netloc for one in page.asked if not one.startswith("data:")}
        assert hosts == {f"127.0.0.1:{opened.port}"}, page.asked
        refused = [one for one in page.complaints if "Content Security Policy" in one or "Refused" in one]
        assert refused == []
    assert len(picture) > _DRAWN_BYTES
