"""The settings file, from the client: find the one in use, read it, change a value.

The whole result is checked before it is written, and written atomically; the owner's comments are kept.
"""

import asyncio
import contextlib
import difflib
import fcntl
import os
import re
import secrets
import textwrap
import time
import tomllib
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table

from reveries import protocol
from reveries.client.connection import connect
from reveries.client.render import Page, Part, Style, line
from reveries.config import (
    Settings,
    build_settings,
    describe_setting,
    find_home,
    get_setting,
    known_keys,
    load_settings,
    read_toml,
)
from reveries.errors import AsleepError, ConfigError, HomeError
from reveries.own_files import open_replacement
from reveries.redaction import redact

_COMMENT_COLUMNS = 110
_LOCK_SECONDS = 5.0
_POLL_SECONDS = 0.01
_CREDENTIALS = re.compile(r"//[^/@\s]+@")


def settings_in_force() -> tuple[str, Settings]:
    """Return the source and the settings in use: those of the running daemon, or those of the next wake."""
    home = find_home()
    try:
        config = asyncio.run(_ask_config())
    except AsleepError:
        return str(home.config) if home.config.exists() else "the defaults", load_settings(home.config)
    return config.source, build_settings(tomllib.loads(config.toml), config.source)


def file_in_force() -> Path:
    """Return the file to change: the one that the daemon was started with, or the home's config.toml."""
    home = find_home()
    try:
        source = Path(asyncio.run(_ask_config()).source)
    except AsleepError:
        return home.config
    return source if source.is_absolute() and source.suffix == ".toml" else home.config


def write_setting(file: Path, key: str, text: str) -> object:
    """Set the dotted `key` of `file` to `text` (TOML, or an unquoted string), and return the value written.

    Raises ConfigError, without changing the file, if the key is unknown or the value is invalid.
    """
    before = get_setting(load_settings(None), key)
    if isinstance(before, dict):
        first = next((name for name in known_keys() if name.startswith(f"{key}.")), "")
        how = f"Set one of its keys, e.g. reveries config set {first} ..." if first else "See: reveries mcp add --help"
        raise ConfigError(f"{key} is a table of settings.", advice=how)
    with lock_settings(file):
        drafted = draft_changes(file, {key: _parse_value(text, before)})
        write_private(file, drafted.after)
    return get_setting(drafted.settings, key)


@dataclass(frozen=True, slots=True)
class SettingsEdit:
    """A settings file before and after a change, and the resulting settings."""

    before: str
    after: str
    settings: Settings


def draft_changes(file: Path, changes: Mapping[str, object], *, explained: bool = False) -> SettingsEdit:
    """Set the dotted keys of `changes` in a copy of `file`, without writing it; `explained`: add comments to new keys.

    Raises ConfigError if a value is invalid.
    """
    document = _read_document(file)
    before = tomlkit.dumps(document)
    for key, value in changes.items():
        _put_value(document, key, value, file, explained=explained)
    after = tomlkit.dumps(document)
    try:
        return SettingsEdit(before, after, build_settings(tomllib.loads(after), str(file)))
    except ConfigError as error:
        raise ConfigError(f"{error.message} Nothing was written.", advice=error.advice) from error


def drop_settings_table(file: Path, table: str, name: str) -> str:
    """Return the text of `file` without the table `name` in the dotted `table`. Raises ConfigError if there is none."""
    document = _read_document(file)
    node: object = document
    for part in table.split("."):
        node = node.get(part) if isinstance(node, MutableMapping) else None
    if not isinstance(node, MutableMapping) or name not in node:
        raise ConfigError(f"There is no [{table}.{name}] in {file}.", advice="See: reveries mcp servers")
    del node[name]
    return tomlkit.dumps(document)


def settings_diff_page(drafted: SettingsEdit) -> Page:
    """Render the changed lines; credentials in addresses are masked."""
    lines = difflib.unified_diff(drafted.before.splitlines(), drafted.after.splitlines(), lineterm="", n=2)
    styles: dict[str, Style] = {"+": "good", "-": "bad"}
    # The first two lines name the files, which are the same.
    rows = [_mask_text(row) for row in list(lines)[2:] if not row.startswith("@@")]
    return [line(Part(f"  {row}", styles.get(row[:1], "dim"))) for row in rows]


def apply_to_daemon() -> list[str] | None:
    """Let a running daemon reload the file. Return the keys that need a restart; None if the mind is asleep."""

    async def reload() -> list[str]:
        async with connect(find_home()) as mind:
            return (await mind.ask(protocol.ApplyConfig, protocol.ConfigApplied)).needs_restart

    try:
        return asyncio.run(reload())
    except AsleepError:
        return None


def settings_page(settings: Settings) -> Page:
    """Render all settings as TOML with comments."""
    page: Page = []
    table = ""
    for key in known_keys():
        above, _, name = key.rpartition(".")
        if above != table:
            table = above
            page += [line(), line(Part(f"[{table}]", "strong"))]
        if meaning := describe_setting(key):
            page.append(line(Part(f"# {meaning}", "dim")))
        page.append(line(f"{name} = ", Part(toml_value(get_setting(settings, key)), "accent")))
    return page


def mask_credentials(value: object) -> object:
    """Return `value` as plain dicts and values; credentials in addresses are masked."""
    return msgspec.json.decode(_mask_text(msgspec.json.encode(value).decode("utf-8")))


def toml_value(value: object) -> str:
    """Return `value` as TOML; credentials in addresses are masked."""
    if isinstance(value, dict):
        table = tomlkit.inline_table()
        table.update(value)
        return _mask_text(table.as_string())
    return _mask_text(tomlkit.item(value).as_string())


def _mask_text(text: str) -> str:
    return redact(_CREDENTIALS.sub("//***@", text))


async def _ask_config() -> protocol.Config:
    async with connect(find_home()) as mind:
        return await mind.ask(protocol.AskConfig, protocol.Config)


def _read_document(file: Path) -> tomlkit.TOMLDocument:
    if not file.exists():
        return tomlkit.document()
    read_toml(file)
    try:
        return tomlkit.parse(file.read_text(encoding="utf-8-sig"))
    except TOMLKitError as error:
        raise ConfigError(f"The settings file {file} is not TOML: {error}.", advice="Fix that line.") from error
    except RecursionError as error:
        raise ConfigError(f"The settings file {file} is nested too deeply.", advice="Remove some brackets.") from error


def _parse_value(text: str, before: object) -> object:
    """Parse `text` for a setting with the default `before`: strings need no quotes, integers are valid floats."""
    if isinstance(before, str):
        return tomllib.loads(f"v = {text}")["v"] if re.fullmatch(r'"[^"\\\n]*"', text) else text
    try:
        value: object = tomllib.loads(f"v = {text}")["v"]
    except (tomllib.TOMLDecodeError, KeyError, RecursionError):
        return text
    return float(value) if isinstance(before, float) and type(value) is int else value


def _put_value(document: tomlkit.TOMLDocument, key: str, value: object, file: Path, *, explained: bool) -> None:
    *tables, name = key.split(".")
    node: MutableMapping[str, object] = document
    if explained and not document:
        document.add(tomlkit.comment("Your settings. To list all settings with their meaning: reveries config"))
    for table in tables:
        child = node.setdefault(table, tomlkit.table())
        if not isinstance(child, MutableMapping):
            raise ConfigError(f"{table} in {file} is not a table.", advice=f"Write it as [{table}], on its own line.")
        node = child
    if explained and name not in node and isinstance(node, tomlkit.TOMLDocument | Table):
        for row in textwrap.wrap(describe_setting(key), _COMMENT_COLUMNS):
            node.add(tomlkit.comment(row))
    node[name] = value


@contextlib.contextmanager
def lock_settings(file: Path) -> Iterator[None]:
    """Lock `file` while it is read and rewritten, so that no concurrent change is lost. The folder is locked, because
    each change replaces the file. Raises HomeError if another process holds the lock for long."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # The folder cannot be locked, or does not exist yet.
            folder = os.open(file.resolve().parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            stack.callback(os.close, folder)
            _lock_folder(folder, file)
        yield


def _lock_folder(folder: int, file: Path) -> None:
    until = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > until:
                raise HomeError(
                    f"Another process is changing the settings file {file}.", advice="Nothing was changed. Try again."
                ) from error
            time.sleep(_POLL_SECONDS)
        else:
            return


def write_private(file: Path, text: str) -> None:
    """Replace `file` atomically, readable by the owner alone. A symbolic link is kept."""
    target = file.resolve()
    # A unique name, so that concurrent writers do not mix their content.
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(open_replacement(partial), "w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        partial.replace(target)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise HomeError(
            f"The settings file {file} cannot be written: {error.strerror}.", advice="Nothing was changed."
        ) from error
