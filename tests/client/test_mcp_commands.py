"""`reveries mcp`: which programs may write, their settings files, and the errors when it cannot serve."""

import asyncio
import json
import socket
import stat
import subprocess
import sys
import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from reveries import protocol
from reveries.client.features.mcp import serve_mcp_command
from reveries.client.mcp import daemon_calls, http
from reveries.client.mcp.http import RequireToken, read_token
from reveries.client.mcp.server import program_name
from reveries.config import Home, load_settings
from reveries.errors import UsageError
from reveries.mcp_settings import McpServerSettings
from tests.client.command_line import Ran, reveries
from tests.fakes.daemon import Script, awake_in_thread


def run(home: Home, folder: Path, *words: str, stdin: str = "") -> Ran:
    """Run `reveries mcp` in `folder`, which is also the user's home."""
    return reveries(home, "mcp", *words, cwd=folder, more={"HOME": str(folder)}, stdin=stdin)


def test_a_program_is_allowed_to_write_and_that_is_taken_back(home: Home) -> None:
    home.create()
    with awake_in_thread(home, Script()) as fake:
        assert "may change your projects" in reveries(home, "mcp", "allow", "claude-code", "--write").out
        assert len(fake.requests(protocol.ApplyConfig)) == 1
    asleep = reveries(home, "mcp", "allow", "codex", "--write")
    assert "at the next wake" in asleep.out
    assert load_settings(home.config).mcp.may_write == ("claude-code", "codex")
    assert json.loads(reveries(home, "mcp", "list", "--json").out)["may_write"] == ["claude-code", "codex"]
    reveries(home, "mcp", "allow", "claude-code", "--no-write")
    assert load_settings(home.config).mcp.may_write == ("codex",)
    assert "codex" in reveries(home, "mcp", "list").out


@pytest.mark.parametrize("words", [("codex",), ("Codex!", "--write"), ("", "--write"), ('a"]', "--write")])
def test_what_is_no_clear_leave_is_refused_and_changes_nothing(home: Home, words: tuple[str, ...]) -> None:
    home.create()
    ran = reveries(home, "mcp", "allow", *words)
    assert ran.code != 0
    assert "Traceback" not in ran.err
    assert load_settings(home.config).mcp.may_write == ()


@pytest.mark.parametrize(
    ("client", "file", "before"),
    [
        ("claude-code", ".mcp.json", '{"mcpServers": {"other": {"command": "x"}}, "more": 1}'),
        ("cursor", ".cursor/mcp.json", ""),
        ("gemini", ".gemini/settings.json", '{"theme": "dark"}'),
        ("vscode", ".vscode/mcp.json", '{"servers": {}}'),
        ("codex", ".codex/config.toml", '# mine\nmodel = "m"\n\n[mcp_servers.other]\ncommand = "x"\n'),
    ],
)
def test_the_server_is_written_into_a_programs_settings_and_all_else_stays(
    home: Home, tmp_path: Path, client: str, file: str, before: str
) -> None:
    place = tmp_path / file
    place.parent.mkdir(exist_ok=True)
    if before:
        place.write_text(before)
    shown = run(home, tmp_path, "install", client, stdin="n\n")
    assert shown.code != 0
    assert str(place) in shown.out.replace("\n", "")
    assert (place.read_text() if before else place.exists()) == (before or False)
    for _ in range(2):
        assert run(home, tmp_path, "install", client, "--yes", "--only", "memory", "--project", "My shed").code == 0
    told = run(home, tmp_path, "install", client, "--yes", "--json", "--only", "memory", "--project", "My shed")
    assert json.loads(told.out)["file"] == str(place)
    assert "Add --yes" in run(home, tmp_path, "install", client, "--json").err
    is_toml = place.suffix == ".toml"
    read: dict[str, Any] = tomllib.loads(place.read_text()) if is_toml else json.loads(place.read_text())
    table = read["mcp_servers" if is_toml else "servers" if client == "vscode" else "mcpServers"]
    entry = table.pop("reveries")
    words = ["mcp", "serve", "--name", client, "--only", "memory", "--project", "My shed"]
    assert entry["args"][-len(words) :] == words
    assert Path(entry["command"]).is_absolute()
    assert entry["env"] == {"REVERIES_HOME": str(home.path)}
    if "other" in before:
        assert table == {"other": {"command": "x"}}
    assert ("# mine" in place.read_text()) == ("# mine" in before)
    assert not [one for one in place.parent.iterdir() if one.name.endswith(".new")]


def test_settings_that_are_a_link_stay_one_and_keep_their_permissions(home: Home, tmp_path: Path) -> None:
    """Settings under version control are often links; a file that a team shares may be read by others."""
    kept = tmp_path / "dotfiles.json"
    kept.write_text("{}")
    kept.chmod(0o640)
    (tmp_path / ".mcp.json").symlink_to(kept)
    assert run(home, tmp_path, "install", "claude-code", "--yes").code == 0
    assert (tmp_path / ".mcp.json").is_symlink()
    assert "reveries" in json.loads(kept.read_text())["mcpServers"]
    assert stat.S_IMODE(kept.stat().st_mode) == 0o640


@pytest.mark.parametrize("content", ["{broken", "[]", '{"mcpServers": 3}', "// words\n{}"])
def test_settings_that_are_no_json_are_left_as_they_are_and_what_to_write_is_said(
    home: Home, tmp_path: Path, content: str
) -> None:
    (tmp_path / ".mcp.json").write_text(content)
    ran = run(home, tmp_path, "install", "claude-code", "--yes")
    assert ran.code != 0
    assert "mcp" in ran.err
    assert "Traceback" not in ran.err
    assert (tmp_path / ".mcp.json").read_text() == content


def test_for_a_program_that_is_not_known_what_to_write_is_shown(home: Home, tmp_path: Path) -> None:
    ran = run(home, tmp_path, "install", "goose")
    shown = json.loads(ran.out[ran.out.index("{") :])
    assert "--name" in shown["mcpServers"]["reveries"]["args"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [(), ("--http", "0")])
def test_without_the_extra_it_is_said_how_to_get_it(home: Home, tmp_path: Path, words: tuple[str, ...]) -> None:
    for name in ("mcp", "mcp_types", "uvicorn"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('it is not here')")
    path = f"{tmp_path}:{Path(__file__).parents[2]}"
    ran = reveries(home, "mcp", "serve", *words, more={"PYTHONPATH": path})
    assert ran.code != 0
    assert "make mcp" in ran.err
    assert ran.out == ""


def test_the_commands_load_no_sdk(home: Home) -> None:
    script = "import sys, reveries.client.cli, reveries.client.features.mcp, reveries.client.mcp.daemon_calls; "
    script += "import reveries.daemon.app; print({'mcp', 'mcp_types', 'uvicorn', 'starlette'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("given", "says", "name"),
    [
        ("claude-code", "x", "claude-code"),
        ("", "Claude Code", "claude-code"),
        ("", "mcp:owner\n", "mcp-owner"),
        ("", "..", "program"),
        ("", None, "program"),
        ("", "x" * 100, "x" * 60),
    ],
)
def test_a_program_is_called_by_a_name_that_can_be_written_down(given: str, says: str | None, name: str) -> None:
    assert program_name(given, says) == name


async def answer_of(headers: list[tuple[bytes, bytes]]) -> int:
    sent: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive() -> Any:
        raise AssertionError("Nothing is read before the token is.")

    async def send(message: Any) -> None:
        sent.append(message)

    await RequireToken(app, "t" * 32)({"type": "http", "headers": headers}, receive, send)
    return int(sent[0]["status"])


async def test_over_http_nothing_is_answered_without_the_one_token() -> None:
    right = (b"authorization", b"Bearer " + b"t" * 32)
    assert await answer_of([right]) == 200
    for wrong in ([], [(b"authorization", b"Bearer x")], [(b"authorization", b"t" * 32)], [right, right]):
        assert await answer_of(wrong) == 401


def test_a_port_that_is_taken_is_said_in_a_sentence(home: Home) -> None:
    home.create()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ran = reveries(home, "mcp", "serve", "--http", str(taken.getsockname()[1]))
    assert ran.code != 0
    assert "Cannot listen on" in ran.err
    assert "Traceback" not in ran.err


def test_a_token_file_that_others_may_read_or_that_holds_no_token_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "token"
    for content, mode, says in (
        ("t" * 32, 0o604, "Others may read"),
        ("t" * 32, 0o640, "Others may read"),
        ("short", 0o600, "no valid token"),
    ):
        file.write_text(content)
        file.chmod(mode)
        with pytest.raises(UsageError, match=says):
            read_token(file)
    file.write_text("t" * 32 + "\n")
    assert read_token(file) == "t" * 32
    with pytest.raises(UsageError, match="cannot be read"):
        read_token(tmp_path / "none")


async def test_one_program_has_so_many_calls_under_way_and_the_rest_wait(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    under_way, most = 0, 0

    class Mind:
        async def ask(self, *_: object, **__: object) -> int:
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            for _turn in range(3):
                await asyncio.sleep(0)
            under_way -= 1
            return 1

    @asynccontextmanager
    async def connect(*_: object, **__: object) -> AsyncIterator[Mind]:
        yield Mind()

    monkeypatch.setattr(daemon_calls, "connect", connect)
    link = daemon_calls.DaemonCalls(home=home)
    async with asyncio.TaskGroup() as tasks:
        for number in range(40):
            tasks.create_task(link.ask(lambda new_id: protocol.AskTools(new_id), int), name=f"call-{number}")
    assert most == daemon_calls.MOST_CALLS


def test_over_http_a_program_is_not_called_as_it_calls_itself(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[str] = []
    monkeypatch.setattr(http, "serve_http", lambda link, name, *_: served.append(name))
    monkeypatch.setenv("REVERIES_HOME", str(home.path))
    for words in ([], ["--name", "helper"]):
        serve_mcp_command.main(["--http", "0", *words], standalone_mode=False)
    assert served == ["http", "helper"]


def test_a_server_is_added_to_the_settings_and_taken_out_again(home: Home) -> None:
    home.create()
    added = reveries(home, "mcp", "add", "wiki", "--look", "read", "--reads", "/srv", "--", "wiki-mcp", "-v")
    assert "reveries mcp servers wiki" in added.out
    reveries(home, "mcp", "add", "far", "--url", "https://a.example/mcp", "--token-file", "~/t")
    servers = load_settings(home.config).mcp.servers
    assert servers["wiki"] == McpServerSettings(command=("wiki-mcp", "-v"), look=("read",), reads=("/srv",))
    assert servers["far"] == McpServerSettings(url="https://a.example/mcp", token_file="~/t")
    assert reveries(home, "mcp", "remove", "wiki").code == 0
    assert list(load_settings(home.config).mcp.servers) == ["far"]
    assert "There is no [mcp.servers.wiki]" in reveries(home, "mcp", "remove", "wiki").err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("Bad Name", "--", "x"), "is not a valid name"),
        (("a.b", "--", "x"), "is not a valid name"),
        (("both", "--url", "https://a.example", "--", "x"), "either a command or an address"),
        (("none",), "either a command or an address"),
    ],
)
def test_a_server_that_cannot_be_is_not_written(home: Home, words: tuple[str, ...], told: str) -> None:
    home.create()
    ran = reveries(home, "mcp", "add", *words)
    assert ran.code != 0
    assert told in ran.err
    assert load_settings(home.config).mcp.servers == {}


def test_servers_are_shown_with_their_tools_or_with_why_they_do_not_start(home: Home) -> None:
    home.create()
    tool = protocol.ServerToolEntry("wiki.read", "Reads a page.", "look", ["title"])
    wiki = protocol.ToolServerEntry("wiki", "wiki-mcp -v", "", "", [tool])
    broken = protocol.ToolServerEntry("far", "https://a.example", "far: It does not start.", "no key was given", [])
    with awake_in_thread(home, Script(looks={"AskToolServers": protocol.ToolServers(0, [wiki, broken])})):
        shown = reveries(home, "mcp", "servers").out
        told = json.loads(reveries(home, "mcp", "servers", "--json").out)
    for words in (
        "wiki.read",
        "(title)",
        "look",
        "Reads a page.",
        "reveries grant give PROJECT wiki",
        "no key was given",
    ):
        assert words in shown
    assert [one["name"] for one in told["servers"]] == ["wiki", "far"]
