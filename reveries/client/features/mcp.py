"""`reveries mcp`: this mind for programs that speak the Model Context Protocol."""

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from reveries import protocol
from reveries.client.answers import json_option, page_of, print_answer

if TYPE_CHECKING:
    from reveries.client.render import Page
    from reveries.protocol.tools import ToolServer, ToolServers


class ProgramsAllowed(msgspec.Struct, frozen=True):
    """The programs that may change projects through `reveries mcp serve`."""

    may_write: list[str]


class ClientConfigured(msgspec.Struct, frozen=True):
    """The settings file of an MCP client to which this server was added, and the command in it."""

    client: str
    file: str
    command: str
    arguments: list[str]


_START_SECONDS = 90.0
_HTTP_NAME = "http"
_GROUPS = ("memory", "orientation", "working", "knowledge")


@click.group("mcp", short_help="Share memory and projects with MCP clients.")
def command() -> None:
    """Share this mind with programs that speak the Model Context Protocol, such as a coding agent or an editor.

    A program may read, and may add notes under its own name; these never count as your words. To change pages and
    tasks it needs your permission: reveries mcp allow NAME --write."""


@command.command("serve")
@click.option("--only", multiple=True, type=click.Choice(_GROUPS), help="Only this group of tools; may be repeated.")
@click.option("--project", default="", help="Limit it to this project.")
@click.option("--name", default="", help="The program's name. Default: as it reports itself; over HTTP: http.")
@click.option("--http", "port", type=click.IntRange(0, 65535), help="Serve over HTTP on this port of 127.0.0.1.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    help="With --http: the file with the bearer token. Default: a new one.",
)
def serve_mcp_command(
    only: "tuple[ToolServer, ...]", project: str, name: str, port: int | None, token_file: Path | None
) -> None:
    """Serve tools, resources and a prompt on standard input and output; the MCP client starts this command itself.
    Needs the extra reveries[mcp]."""
    import secrets

    from reveries.client.mcp.daemon_calls import DaemonCalls
    from reveries.config import find_home
    from reveries.errors import UsageError

    home = find_home()
    home.check()
    link = DaemonCalls(home=home, servers=only, project=project)
    try:
        if port is None:
            from reveries.client.mcp.server import serve_stdio

            serve_stdio(link, name)
            return
        from reveries.client.mcp.http import read_token, serve_http
    except ImportError as error:
        raise UsageError(
            "The MCP server is not installed.",
            advice="Install it, in the folder that you installed Reveries from: make mcp",
        ) from error
    token = read_token(token_file) if token_file else secrets.token_urlsafe(32)

    def print_address(address: str) -> None:
        # To standard error: standard output is for answers only.
        click.echo(address, err=True)
        if not token_file:
            click.echo(f"Authorization: Bearer {token}", err=True)

    # A client with the token may report any name: over HTTP only the name given by the owner counts.
    serve_http(link, name or _HTTP_NAME, port, token, print_address)


@command.command("allow")
@click.argument("name")
@click.option("--write/--no-write", "may_write", default=None, help="Whether it may change your projects.")
@json_option(ProgramsAllowed)
def allow_program_command(name: str, may_write: bool | None, as_json: bool) -> None:
    """Allow or forbid the program NAME to change pages, tasks and answers:
    reveries mcp allow claude-code --write."""
    from reveries.client.render import say, show_json
    from reveries.client.settings_file import apply_to_daemon, file_in_force, settings_in_force, write_setting
    from reveries.errors import UsageError

    if may_write is None:
        raise UsageError(
            "Say whether it may change your projects.", advice=f"reveries mcp allow {name} --write, or --no-write"
        )
    _check_name(name)
    _, settings = settings_in_force()
    names = sorted({*settings.mcp.may_write, name} if may_write else {*settings.mcp.may_write} - {name})
    file = file_in_force()
    write_setting(file, "mcp.may_write", "[" + ", ".join(f'"{program}"' for program in names) + "]")
    is_awake = apply_to_daemon() is not None
    if as_json:
        show_json(ProgramsAllowed(names))
        return
    say(
        f"{name} may change your projects." if may_write else f"{name} may only read, and add notes under its own name."
    )
    if not is_awake:
        say("It takes effect at the next wake.", "dim")


@command.command("list")
@json_option(ProgramsAllowed)
def list_programs_command(as_json: bool) -> None:
    """List the programs that may change your projects."""
    from reveries.client.render import say, show_json
    from reveries.client.settings_file import settings_in_force

    _, settings = settings_in_force()
    if as_json:
        show_json(ProgramsAllowed(list(settings.mcp.may_write)))
        return
    for name in settings.mcp.may_write:
        say(f"  {name}  may change your projects. To revoke this:  reveries mcp allow {name} --no-write")
    if not settings.mcp.may_write:
        say("No program may change your projects. They may read, and add notes under their own names.", "dim")


@command.command("add")
@click.argument("name")
@click.argument("words", nargs=-1)
@click.option("--url", default="", help="The address of a server, instead of a command.")
@click.option("--look", multiple=True, help="A tool of it that only reads; may be repeated.")
@click.option("--network", is_flag=True, help="Allow the command network access.")
@click.option("--reads", multiple=True, help="A folder that the command may read; may be repeated.")
@click.option("--writes", multiple=True, help="A folder that it may change; may be repeated.")
@click.option("--environment-file", default="", help="A file of NAME=VALUE lines with its secrets (mode 600).")
@click.option("--token-file", default="", help="With --url: the file with the bearer token (mode 600).")
def add_server_command(name: str, words: tuple[str, ...], **given: object) -> None:
    """Add an MCP server, whose tools you can then grant to your projects:
    reveries mcp add files --reads ~/notes -- npx -y @modelcontextprotocol/server-filesystem ~/notes."""
    from reveries.client.render import say
    from reveries.client.settings_file import (
        apply_to_daemon,
        draft_changes,
        file_in_force,
        lock_settings,
        write_private,
    )
    from reveries.errors import UsageError

    _check_name(name.replace(".", " "))
    if bool(words) == bool(given["url"]):
        raise UsageError("Give either a command or an address.", advice=f"reveries mcp add {name} -- COMMAND")
    table = {key: list(value) if isinstance(value, tuple) else value for key, value in given.items() if value}
    table |= {"command": list(words)} if words else {}
    file = file_in_force()
    with lock_settings(file):
        write_private(file, draft_changes(file, {f"mcp.servers.{name}": table}).after)
    if apply_to_daemon() is None:
        say(f"{name} was added to {file}. To see its tools when the mind is awake:  reveries mcp servers {name}")
        return
    _show_servers(name, as_json=False)


@command.command("remove")
@click.argument("name")
def remove_server_command(name: str) -> None:
    """Remove an MCP server from the settings. Grants of its tools no longer apply."""
    from reveries.client.render import say
    from reveries.client.settings_file import (
        apply_to_daemon,
        drop_settings_table,
        file_in_force,
        lock_settings,
        write_private,
    )

    file = file_in_force()
    with lock_settings(file):
        write_private(file, drop_settings_table(file, "mcp.servers", name))
    apply_to_daemon()
    say(f"{name} was removed from {file}.")


@command.command("servers")
@click.argument("name", default="")
@json_option(protocol.ToolServers)
def list_servers_command(name: str, as_json: bool) -> None:
    """List the MCP servers in your settings and their tools. Each server is started for a moment."""
    _show_servers(name, as_json=as_json)


def _show_servers(name: str, *, as_json: bool) -> None:
    from reveries.client.sync_call import ask_mind

    answer = ask_mind(
        lambda new_id: protocol.AskToolServers(new_id, name), protocol.ToolServers, seconds=_START_SECONDS
    )
    print_answer(answer, as_json)


@page_of(protocol.ToolServers)
def servers_page(answer: "ToolServers") -> "Page":
    """Render each server with its tools, one per line."""
    from reveries.client.render import Part, line

    page: Page = []
    for server in answer.servers:
        page.append(line(Part(server.name, "strong"), Part(f"  {server.address}", "dim")))
        if server.fault:
            page += [line(Part(f"  {server.fault}", "bad")), line(Part(f"  {server.advice}", "dim"))]
            continue
        for tool in server.tools:
            arguments = f"  ({', '.join(tool.arguments)})  {tool.reach}"
            page.append(line(Part(f"  {tool.name}", "accent"), Part(arguments, "dim")))
            page.append(line(f"      {tool.description}"))
        page.append(line(Part(f"  To let a project use them:  reveries grant give PROJECT {server.name}", "dim")))
    return page or [line("  There are no servers yet. To add one:  reveries mcp add --help")]


@command.command("install")
@click.argument("client")
@click.option("--only", multiple=True, type=click.Choice(_GROUPS), help="Only this group of tools; may be repeated.")
@click.option("--project", default="", help="Limit it to this project.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option(ClientConfigured)
def install_server_command(client: str, only: tuple[str, ...], project: str, yes: bool, as_json: bool) -> None:
    """Add this server to the settings of CLIENT (claude-code, codex, cursor, gemini, vscode), after showing the change.
    For any other name, only show what to write."""
    import importlib.util

    from reveries.client.mcp.client_settings import CLIENTS, draft_settings, server_entry, show_entry, write_settings
    from reveries.client.render import say, show_json
    from reveries.errors import UsageError

    _check_name(client)
    entry = server_entry(client, only, project)
    if client not in CLIENTS:
        if as_json:
            show_json(ClientConfigured(client, "", entry.command, list(entry.arguments)))
            return
        say(f"Add this to the MCP servers of {client}:")
        say(show_entry(entry))
        return
    drafted = draft_settings(client, entry)
    if as_json and not yes:
        raise UsageError("--json cannot ask for confirmation.", advice="Add --yes.")
    if not as_json:
        say(f"In {drafted.file}:", "strong")
        say(drafted.shown)
    if not yes:
        click.confirm("Write it?", abort=True)
    write_settings(drafted)
    if as_json:
        show_json(ClientConfigured(client, str(drafted.file), entry.command, list(entry.arguments)))
        return
    say(f"Written. {client} uses it from its next start. To let it change your projects:", "good")
    say(f"  reveries mcp allow {client} --write")
    if importlib.util.find_spec("mcp") is None:
        say("The MCP library is not installed yet. In the folder that you installed Reveries from: make mcp", "warn")


def _check_name(name: str) -> None:
    import re

    from reveries.errors import UsageError

    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,59}", name):
        raise UsageError(
            f"{name[:60]!r} is not a valid name.", advice="Use lower-case letters and digits, for example: claude-code"
        )
