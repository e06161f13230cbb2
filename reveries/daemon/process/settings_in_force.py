"""The current settings: shown with secrets masked, and reloaded when the owner asks."""

from pathlib import Path
from typing import cast

import msgspec
import tomlkit

from reveries.config import Settings, get_setting, known_keys, load_settings
from reveries.redaction import redact

READ_AT_WAKE = ("mind.", "llm.", "circuit_breaker.", "storage.db_path", "log.")
"""Beginnings of the keys whose value is read once, when the mind wakes. Every other setting is read anew each time that
a part of the mind needs it, so a changed one applies at once."""


def masked_toml(settings: Settings) -> str:
    """Return `settings` as TOML. API keys are never in them (they come from a file or the environment), so only
    credentials within `base_url` are masked."""
    tables = cast("dict[str, dict[str, object]]", msgspec.to_builtins(settings))
    url = str(tables["llm"]["base_url"])
    if "@" in url:
        tables["llm"]["base_url"] = url.partition("://")[0] + "://[masked]@" + url.rpartition("@")[2]
    return redact(tomlkit.dumps(tables))


class SettingsInForce:
    """The current settings, and the file that they came from."""

    def __init__(self, file: Path, current: Settings) -> None:
        self.file = file
        self.current = current
        self._in_file = current

    def reload(self) -> tuple[list[str], list[str]]:
        """Reload the file; return the changed keys, and those that apply only from the next wake: `current` keeps their
        value until then. Raises ConfigError; then the current settings stay in force."""
        fresh = load_settings(self.file)
        changed = _differing_keys(fresh, self._in_file)
        self._in_file, self.current = fresh, _keep_read_at_wake(fresh, self.current)
        return changed, _differing_keys(fresh, self.current)


def _keep_read_at_wake(fresh: Settings, current: Settings) -> Settings:
    """Return `fresh` with the values of `current` for all keys that are read only at a wake."""
    tables = cast("dict[str, object]", msgspec.to_builtins(fresh))
    for key in known_keys():
        if key.startswith(READ_AT_WAKE):
            *parents, name = key.split(".")
            table = tables
            for parent in parents:
                table = cast("dict[str, object]", table[parent])
            table[name] = get_setting(current, key)
    return msgspec.convert(tables, Settings)


def _differing_keys(settings: Settings, other: Settings) -> list[str]:
    return [key for key in known_keys() if get_setting(settings, key) != get_setting(other, key)]
