"""`reveries mcp`: this mind for programs that speak the Model Context Protocol."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reveries.client.render import Page
    from reveries.protocol.tools import ToolServer, ToolServers

_START_SECONDS = 90.0
_HTTP_NAME = "http"
_GROUPS = ("memory", "orientation", "working", "knowledge")


@click.group("mcp", short_help="A memory for your coding agent, and your projects.")
def command() -> None:
    """This mind for programs that speak the Model Context Protocol: a coding agent, an editor.

    A program looks, and adds in its own name; what it writes is marked with that name and never counts as your word.
    To change pages and tasks it needs your leave: reveries mcp allow NAME --write."""


@command.command("serve")
@click.option("--only", multiple=True, type=click.Choice(_GROUPS), help="This group of tools; may be given again.")
@click.option("--project", default="", help="Bind it to this project.")
@click.option("--name", default="", help="What the program is called; else as it calls itself, over HTTP: http.")
@click.option("--http", "port", type=click.IntRange(0, 65535), help="Over HTTP on this port of 127.0.0.1.")
@click.option("--token-file", type=click.Path(path_type=Path), help="With --http: the bearer token; else one is made.")
def serve(only: "tuple[ToolServer, ...]", project: str, name: str, port: int | None, token_file: Path | None) -> None:
    """Serve tools, resources and a prompt on standard input and output; a program starts this by itself. The extra
    reveries[mcp] is needed."""
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
            "What serves programs is not installed.",
            advice="Install the extra: pip install 'reveries[mcp]', or in a checkout: make mcp",
        ) from error
    token = read_token(token_file) if token_file else secrets.token_urlsafe(32)

    def tell(address: str) -> None:
        # On standard error, as all that is no answer.
        click.echo(address, err=True)
        if not token_file:
            click.echo(f"Authorization: Bearer {token}", err=True)

    # Whoever has the token may call itself as it likes: over HTTP only the owner's name for it counts.
    serve_http(link, name or _HTTP_NAME, port, token, tell)


@command.command("allow")
@click.argument("name")
@click.option("--write/--no-write", "may_write", default=None, help="Whether it may change projects.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def allow(name: str, may_write: bool | None, as_json: bool) -> None:
    """Let the program NAME change pages, tasks and answers, or take that back:
    reveries mcp allow claude-code --write."""
    from reveries.client.json_answers import ProgramsAllowed
    from reveries.client.render import say, write_struct
    from reveries.client.settings_file import apply, file_in_force, in_force, write_setting
    from reveries.errors import UsageError

    if may_write is None:
        raise UsageError("Say what it may.", advice=f"reveries mcp allow {name} --write, or --no-write")
    _check_name(name)
    _, settings = in_force()
    names = sorted({*settings.mcp.may_write, name} if may_write else {*settings.mcp.may_write} - {name})
    file = file_in_force()
    write_setting(file, "mcp.may_write", "[" + ", ".join(f'"{one}"' for one in names) + "]")
    is_awake = apply() is not None
    if as_json:
        write_struct(ProgramsAllowed(names))
        return
    say(f"{name} may change your projects." if may_write else f"{name} looks, and adds in its own name; no more.")
    if not is_awake:
        say("It counts from the next wake on.", "dim")


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def list_programs(as_json: bool) -> None:
    """Which programs may change your projects."""
    from reveries.client.json_answers import ProgramsAllowed
    from reveries.client.render import say, write_struct
    from reveries.client.settings_file import in_force

    _, settings = in_force()
    if as_json:
        write_struct(ProgramsAllowed(list(settings.mcp.may_write)))
        return
    for name in settings.mcp.may_write:
        say(f"  {name}  may change your projects. To take that back:  reveries mcp allow {name} --no-write")
    if not settings.mcp.may_write:
        say("No program may change your projects. They look, and add in their own name.", "dim")


@command.command("add")
@click.argument("name")
@click.argument("words", nargs=-1)
@click.option("--url", default="", help="A server that is reached by its address, instead of a command.")
@click.option("--look", multiple=True, help="A tool of it that only looks; may be given again.")
@click.option("--network", is_flag=True, help="Let the command reach the network.")
@click.option("--reads", multiple=True, help="A folder that the command may see; may be given again.")
@click.option("--writes", multiple=True, help="A folder that it may change; may be given again.")
@click.option("--environment-file", default="", help="NAME=VALUE lines, for its secrets (mode 600).")
@click.option("--token-file", default="", help="With --url: the bearer token (mode 600).")
def add_server(name: str, words: tuple[str, ...], **given: object) -> None:
    """Add an MCP server whose tools your projects may then be granted:
    reveries mcp add files --reads ~/notes -- npx -y @modelcontextprotocol/server-filesystem ~/notes."""
    from reveries.client.render import say
    from reveries.client.settings_file import apply, changing, draft, file_in_force, write_private
    from reveries.errors import UsageError

    _check_name(name.replace(".", " "))
    if bool(words) == bool(given["url"]):
        raise UsageError("A server is a command, or an address.", advice=f"reveries mcp add {name} -- COMMAND")
    table = {key: list(value) if isinstance(value, tuple) else value for key, value in given.items() if value}
    table |= {"command": list(words)} if words else {}
    file = file_in_force()
    with changing(file):
        write_private(file, draft(file, {f"mcp.servers.{name}": table}).after)
    if apply() is None:
        say(f"{name} is written into {file}. What it offers, when the mind is awake:  reveries mcp servers {name}")
        return
    _show_servers(name, as_json=False)


@command.command("remove")
@click.argument("name")
def remove_server(name: str) -> None:
    """Take an MCP server out of the settings. What was granted of it counts no more."""
    from reveries.client.render import say
    from reveries.client.settings_file import apply, changing, drop_settings_table, file_in_force, write_private

    file = file_in_force()
    with changing(file):
        write_private(file, drop_settings_table(file, "mcp.servers", name))
    apply()
    say(f"{name} is out of {file}.")


@command.command("servers")
@click.argument("name", default="")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def list_servers(name: str, as_json: bool) -> None:
    """The MCP servers of your settings, and what each offers now. Each is started for a moment."""
    _show_servers(name, as_json=as_json)


def _show_servers(name: str, *, as_json: bool) -> None:
    from reveries import protocol
    from reveries.client.render import show, show_json
    from reveries.client.sync_call import ask

    answer = ask(lambda new_id: protocol.AskToolServers(new_id, name), protocol.ToolServers, seconds=_START_SECONDS)
    show_json(answer) if as_json else show(servers_page(answer))


def servers_page(answer: "ToolServers") -> "Page":
    """A server, and its tools a line each."""
    from reveries.client.render import Part, line

    page: Page = []
    for one in answer.servers:
        page.append(line(Part(one.name, "strong"), Part(f"  {one.address}", "dim")))
        if one.fault:
            page += [line(Part(f"  {one.fault}", "bad")), line(Part(f"  {one.advice}", "dim"))]
            continue
        for tool in one.tools:
            arguments = f"  ({', '.join(tool.arguments)})  {tool.reach}"
            page.append(line(Part(f"  {tool.name}", "accent"), Part(arguments, "dim")))
            page.append(line(f"      {tool.description}"))
        page.append(line(Part(f"  To let a project use them:  reveries grant give PROJECT {one.name}", "dim")))
    return page or [line("  No server is set. To add one:  reveries mcp add --help")]


@command.command("install")
@click.argument("client")
@click.option("--only", multiple=True, type=click.Choice(_GROUPS), help="This group of tools; may be given again.")
@click.option("--project", default="", help="Bind it to this project.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def install_server(client: str, only: tuple[str, ...], project: str, yes: bool, as_json: bool) -> None:
    """Write this server into the settings of CLIENT (claude-code, codex, cursor, gemini, vscode), and show them first.
    Any other name: only show what to write."""
    import importlib.util

    from reveries.client.json_answers import ClientConfigured
    from reveries.client.mcp.client_settings import CLIENTS, draft_settings, server_entry, show_entry, write_settings
    from reveries.client.render import say, write_struct
    from reveries.errors import UsageError

    _check_name(client)
    entry = server_entry(client, only, project)
    if client not in CLIENTS:
        if as_json:
            write_struct(ClientConfigured(client, "", entry.command, list(entry.arguments)))
            return
        say(f"Where {client} keeps its MCP servers, write:")
        say(show_entry(entry))
        return
    drafted = draft_settings(client, entry)
    if as_json and not yes:
        raise UsageError("With --json nobody can be asked.", advice="Add --yes.")
    if not as_json:
        say(f"In {drafted.file}:", "strong")
        say(drafted.shown)
    if not yes:
        click.confirm("Write it?", abort=True)
    write_settings(drafted)
    if as_json:
        write_struct(ClientConfigured(client, str(drafted.file), entry.command, list(entry.arguments)))
        return
    say(f"Written. {client} finds it at its next start. To let it change your projects:", "good")
    say(f"  reveries mcp allow {client} --write")
    if importlib.util.find_spec("mcp") is None:
        say("What serves programs is not installed yet: make mcp (or: pip install 'reveries[mcp]')", "warn")


def _check_name(name: str) -> None:
    import re

    from reveries.errors import UsageError

    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,59}", name):
        raise UsageError(f"{name[:60]!r} is no name here.", advice="Small letters and digits, as: claude-code")
