"""The settings file from the client's side: which one is in force, what it says, changing one line of it.

A change is checked as a whole before it is written, and written in one step; the owner's comments stay.
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
    describe,
    find_home,
    known_keys,
    load_settings,
    read_toml,
    setting,
    settings_from,
)
from reveries.errors import AsleepError, ConfigError, HomeError
from reveries.own_files import open_new
from reveries.redaction import redacted

_COMMENT_COLUMNS = 110
_OTHERS_CHANGE_SECONDS = 5.0
_LOOK_SECONDS = 0.01
_CREDENTIALS = re.compile(r"//[^/@\s]+@")


def in_force() -> tuple[str, Settings]:
    """Where the settings come from, and the settings: a waking mind's own, or what the next wake would read."""
    home = find_home()
    try:
        told = asyncio.run(_ask_config())
    except AsleepError:
        return str(home.config) if home.config.exists() else "the defaults", load_settings(home.config)
    return told.source, settings_from(tomllib.loads(told.toml), told.source)


def file_in_force() -> Path:
    """The file that a change goes into: what the waking mind was woken with, or the home's config.toml."""
    home = find_home()
    try:
        source = Path(asyncio.run(_ask_config()).source)
    except AsleepError:
        return home.config
    return source if source.is_absolute() and source.suffix == ".toml" else home.config


def write_setting(file: Path, key: str, text: str) -> object:
    """Set the dotted `key` of `file` to `text` (TOML, or bare words); the value that was written.

    Raises ConfigError, with the file untouched, when there is no such key or the value does not suit it.
    """
    before = setting(load_settings(None), key)
    if isinstance(before, dict):
        first = next((name for name in known_keys() if name.startswith(f"{key}.")), "")
        how = f"Set one of them, e.g. reveries config set {first} ..." if first else "See: reveries mcp add --help"
        raise ConfigError(f"{key} is a table of settings.", advice=how)
    with changing(file):
        drafted = draft(file, {key: _parse_value(text, before)})
        write_private(file, drafted.after)
    return setting(drafted.settings, key)


@dataclass(frozen=True, slots=True)
class SettingsEdit:
    """A settings file as it is, as it would be, and what it would then say."""

    before: str
    after: str
    settings: Settings


def draft(file: Path, changes: Mapping[str, object], *, explained: bool = False) -> SettingsEdit:
    """`file` with the dotted keys of `changes` set, nothing written; `explained`: new lines say what they mean.

    Raises ConfigError when a value does not suit its key.
    """
    document = _document(file)
    before = tomlkit.dumps(document)
    for key, value in changes.items():
        _put_value(document, key, value, file, explained=explained)
    after = tomlkit.dumps(document)
    try:
        return SettingsEdit(before, after, settings_from(tomllib.loads(after), str(file)))
    except ConfigError as error:
        raise ConfigError(f"{error.message} Nothing was written.", advice=error.advice) from error


def drop_settings_table(file: Path, table: str, name: str) -> str:
    """The text of `file` without the table `name` in the dotted `table`. Raises ConfigError where it is not there."""
    document = _document(file)
    node: object = document
    for part in table.split("."):
        node = node.get(part) if isinstance(node, MutableMapping) else None
    if not isinstance(node, MutableMapping) or name not in node:
        raise ConfigError(f"There is no [{table}.{name}] in {file}.", advice="See: reveries mcp servers")
    del node[name]
    return tomlkit.dumps(document)


def diff_page(drafted: SettingsEdit) -> Page:
    """What a draft changes, line by line; credentials in an address are masked."""
    lines = difflib.unified_diff(drafted.before.splitlines(), drafted.after.splitlines(), lineterm="", n=2)
    styles: dict[str, Style] = {"+": "good", "-": "bad"}
    # The first two name the files, which are the same one.
    shown = [_hidden(row) for row in list(lines)[2:] if not row.startswith("@@")]
    return [line(Part(f"  {row}", styles.get(row[:1], "dim"))) for row in shown]


def apply() -> list[str] | None:
    """Tell the mind, if it is awake, that the file has changed: the keys that need a restart. None: it sleeps."""

    async def tell() -> list[str]:
        async with connect(find_home()) as mind:
            return (await mind.ask(protocol.ApplyConfig, protocol.ConfigApplied)).needs_restart

    try:
        return asyncio.run(tell())
    except AsleepError:
        return None


def settings_page(settings: Settings) -> Page:
    """All settings as TOML, with what each means."""
    page: Page = []
    table = ""
    for key in known_keys():
        above, _, name = key.rpartition(".")
        if above != table:
            table = above
            page += [line(), line(Part(f"[{table}]", "strong"))]
        if meaning := describe(key):
            page.append(line(Part(f"# {meaning}", "dim")))
        page.append(line(f"{name} = ", Part(toml_value(setting(settings, key)), "accent")))
    return page


def masked(value: object) -> object:
    """`value` as plain tables and values, credentials in addresses masked."""
    return msgspec.json.decode(_hidden(msgspec.json.encode(value).decode("utf-8")))


def toml_value(value: object) -> str:
    """`value` as TOML writes it; credentials in an address are masked."""
    if isinstance(value, dict):
        table = tomlkit.inline_table()
        table.update(value)
        return _hidden(table.as_string())
    return _hidden(tomlkit.item(value).as_string())


def _hidden(text: str) -> str:
    return redacted(_CREDENTIALS.sub("//***@", text))


async def _ask_config() -> protocol.Config:
    async with connect(find_home()) as mind:
        return await mind.ask(protocol.AskConfig, protocol.Config)


def _document(file: Path) -> tomlkit.TOMLDocument:
    if not file.exists():
        return tomlkit.document()
    read_toml(file)
    try:
        return tomlkit.parse(file.read_text(encoding="utf-8-sig"))
    except TOMLKitError as error:
        raise ConfigError(f"The settings file {file} is not TOML: {error}.", advice="Mend that line.") from error
    except RecursionError as error:
        raise ConfigError(f"The settings file {file} is nested too deeply.", advice="Take brackets away.") from error


def _parse_value(text: str, before: object) -> object:
    """What `text` means for a setting that is `before` now: words need no quotes, a number may stand for a fraction."""
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
        document.add(tomlkit.comment("Your settings. All that there are, and what they mean: reveries config"))
    for table in tables:
        below = node.setdefault(table, tomlkit.table())
        if not isinstance(below, MutableMapping):
            raise ConfigError(f"{table} in {file} is no table.", advice=f"Write it as [{table}], on a line of its own.")
        node = below
    if explained and name not in node and isinstance(node, tomlkit.TOMLDocument | Table):
        for row in textwrap.wrap(describe(key), _COMMENT_COLUMNS):
            node.add(tomlkit.comment(row))
    node[name] = value


@contextlib.contextmanager
def changing(file: Path) -> Iterator[None]:
    """While `file` is read, and written anew with a change: one at a time, for what another wrote between the two would
    be gone. The folder is what is locked: the file itself is another one after each change. Raises HomeError when
    somebody else has it for long."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):  # A folder that takes no lock, or is not there yet.
            folder = os.open(file.resolve().parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            held.callback(os.close, folder)
            _lock_folder(folder, file)
        yield


def _lock_folder(folder: int, file: Path) -> None:
    until = time.monotonic() + _OTHERS_CHANGE_SECONDS
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > until:
                raise HomeError(
                    f"Somebody else is changing the settings file {file}.", advice="Nothing was changed. Try again."
                ) from error
            time.sleep(_LOOK_SECONDS)
        else:
            return


def write_private(file: Path, text: str) -> None:
    """Put `text` in the place of `file` in one step, readable by the owner alone. A link stays a link."""
    target = file.resolve()
    # Nobody else's: what is put in the file's place is what was written here, whoever writes at the same time.
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(open_new(partial), "w", encoding="utf-8") as out:
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
