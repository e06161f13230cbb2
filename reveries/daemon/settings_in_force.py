"""The settings that count now: shown with secrets masked, and read again on the owner's word."""

from pathlib import Path
from typing import cast

import msgspec
import tomlkit

from reveries.config import Settings, known_keys, load_settings, setting
from reveries.redaction import redacted

_TAKES_EFFECT_NOW = (
    "budget.",
    "conversation.",
    "monologue.",
    "calendar.",
    "memory.consolidation_",
    "recall.",
    "owner.",
    "client.",
    "mind.",
)


def masked_toml(settings: Settings) -> str:
    """`settings` as TOML. A key is never among them (it comes from a file or the environment), so nothing is masked
    but what somebody put into `base_url`."""
    tables = cast("dict[str, dict[str, object]]", msgspec.to_builtins(settings))
    url = str(tables["llm"]["base_url"])
    if "@" in url:
        tables["llm"]["base_url"] = url.partition("://")[0] + "://[masked]@" + url.rpartition("@")[2]
    return redacted(tomlkit.dumps(tables))


class SettingsInForce:
    """The settings that count now, and the file that they came from."""

    def __init__(self, file: Path, current: Settings) -> None:
        self.file = file
        self.current = current

    def read_again(self) -> tuple[list[str], list[str]]:
        """The keys that changed, and those of them that need a new wake. Raises ConfigError; then the current settings
        stay in force."""
        fresh = load_settings(self.file)
        changed = [key for key in known_keys() if setting(fresh, key) != setting(self.current, key)]
        needs_restart = [key for key in changed if not key.startswith(_TAKES_EFFECT_NOW)]
        self.current = fresh
        return changed, needs_restart
