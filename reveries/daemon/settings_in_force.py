"""The current settings: shown with secrets masked, and reloaded when the owner asks."""

from pathlib import Path
from typing import cast

import msgspec
import tomlkit

from reveries.config import Settings, get_setting, known_keys, load_settings
from reveries.redaction import redact

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

    def reload(self) -> tuple[list[str], list[str]]:
        """Reload the file; return the changed keys, and those of them that need a restart. Raises ConfigError; then the
        current settings stay in force."""
        fresh = load_settings(self.file)
        changed = [key for key in known_keys() if get_setting(fresh, key) != get_setting(self.current, key)]
        needs_restart = [key for key in changed if not key.startswith(_TAKES_EFFECT_NOW)]
        self.current = fresh
        return changed, needs_restart
