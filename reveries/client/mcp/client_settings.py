"""The settings files of programs that use MCP servers: where they are, and adding this server to them."""

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import tomlkit
from tomlkit.exceptions import TOMLKitError

from reveries.config import find_home
from reveries.errors import InputFileError
from reveries.own_files import write_private_file

SERVER_NAME: Final = "reveries"
_LONGEST_FILE: Final = 4 * 2**20


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """The command with which a program starts this server."""

    command: str
    arguments: tuple[str, ...]
    environment: dict[str, str]


@dataclass(frozen=True, slots=True)
class ClientKind:
    """Where a program keeps its MCP servers: a file in the project's or the user's folder, and a table in it."""

    file: str
    table: str
    is_of_project: bool
    """Whether the file is in the working folder; otherwise in the user's home."""


CLIENTS: Final = {
    "claude-code": ClientKind(".mcp.json", "mcpServers", True),
    "codex": ClientKind(".codex/config.toml", "mcp_servers", False),
    "cursor": ClientKind(".cursor/mcp.json", "mcpServers", False),
    "gemini": ClientKind(".gemini/settings.json", "mcpServers", False),
    "vscode": ClientKind(".vscode/mcp.json", "servers", True),
}


@dataclass(frozen=True, slots=True)
class DraftedSettings:
    """The new text of a settings file, not yet written. `shown`: the part that is added."""

    file: Path
    text: str
    shown: str


def server_entry(client: str, only: tuple[str, ...], project: str) -> ServerEntry:
    """Return the command that serves `client`, by its full path: programs start it without a shell's PATH."""
    options = [word for group in only for word in ("--only", group)] + (["--project", project] if project else [])
    home = find_home().path
    environment = {"REVERIES_HOME": str(home)} if "REVERIES_HOME" in os.environ else {}
    # This installation, not another `reveries` on the PATH.
    return ServerEntry(sys.executable, ("-m", "reveries", "mcp", "serve", "--name", client, *options), environment)


def show_entry(entry: ServerEntry) -> str:
    """Format the entry as JSON, the way most programs write it."""
    return json.dumps({"mcpServers": {SERVER_NAME: _entry_table(entry)}}, indent=2)


def draft_settings(client: str, entry: ServerEntry) -> DraftedSettings:
    """Draft the client's settings with this server added, the rest unchanged. Raises InputFileError."""
    kind = CLIENTS[client]
    file = (Path.cwd() if kind.is_of_project else Path.home()) / kind.file
    text = _read_settings(file)
    table = _entry_table(entry)
    try:
        if file.suffix == ".toml":
            document = tomlkit.parse(text)
            servers = document.setdefault(kind.table, tomlkit.table(is_super_table=True))
            servers[SERVER_NAME] = table
            shown = tomlkit.dumps({kind.table: {SERVER_NAME: table}})
            return DraftedSettings(file, tomlkit.dumps(document), shown)
        settings: dict[str, Any] = json.loads(text or "{}")
        settings.setdefault(kind.table, {})[SERVER_NAME] = table
    except (ValueError, TypeError, AttributeError, TOMLKitError) as error:
        raise InputFileError(
            f"{file} is not plain {file.suffix[1:].upper()}, so it was not changed.",
            advice=f"Add this yourself: {json.dumps(table)}",
        ) from error
    shown = json.dumps({kind.table: {SERVER_NAME: table}}, indent=2)
    return DraftedSettings(file, json.dumps(settings, indent=2, ensure_ascii=False) + "\n", shown)


def write_settings(drafted: DraftedSettings) -> None:
    """Replace the file atomically. Raises InputFileError."""
    target = drafted.file.resolve()
    temporary = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
        write_private_file(temporary, drafted.text.encode())
        temporary.chmod(mode)
        temporary.replace(target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise InputFileError(
            f"{drafted.file} cannot be written: {error.strerror}.", advice="Add what is shown above to it yourself."
        ) from error


def _read_settings(file: Path) -> str:
    try:
        if file.stat().st_size > _LONGEST_FILE:
            raise InputFileError(f"{file} is too long.", advice="Check the file: settings are a few lines.")
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise InputFileError(f"{file} cannot be read.", advice="Check its permissions.") from error


def _entry_table(entry: ServerEntry) -> dict[str, Any]:
    table: dict[str, Any] = {"command": entry.command, "args": list(entry.arguments)}
    return table | ({"env": entry.environment} if entry.environment else {})
