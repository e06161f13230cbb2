"""Keys of providers: where one is found, where it would be, and what must never be written or shown."""

import contextlib
import os
import re
from collections.abc import Mapping
from pathlib import Path

from reveries.config import Home, LlmSettings, load_settings
from reveries.errors import ConfigError
from reveries.own_files import is_file_of_yours

_SECRET_NAME = re.compile(r"(?i)(?:key|token|secret|passw(?:or)?d|passphrase|credential)s?$")


def find_api_key(settings: LlmSettings) -> str:
    """The hosted provider's key: from `api_key_file`, else REVERIES_API_KEY; empty when there is none.

    Raises ConfigError for a file that cannot be read, or that others may read.
    """
    if not settings.api_key_file:
        return os.environ.get("REVERIES_API_KEY", "")
    return read_private_file(Path(settings.api_key_file).expanduser(), "llm.api_key_file")


def read_private_file(file: Path, setting: str) -> str:
    """A secret in a file of the owner's that nobody else may read. Raises ConfigError, which names the setting."""
    try:
        if not is_file_of_yours(file):
            raise ConfigError(f"The key file {file} is no file of yours.", advice=f"Check {setting}.")
        if file.stat().st_mode & 0o077:
            raise ConfigError(f"The key file {file} can be read by others.", advice=f"Close it: chmod 600 {file}")
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"The key file {file} cannot be read: {getattr(error, 'strerror', None) or 'it is not text'}.",
            advice=f"Check {setting}.",
        ) from error


def known_secrets(settings: LlmSettings | None = None) -> tuple[str, ...]:
    """What must never be written or shown, as far as it is known: what the environment calls a key, a token, a secret
    or a password, and the content of the key file. Empty values are left out. Raises nothing."""
    named = [value for name, value in os.environ.items() if _SECRET_NAME.search(name)]
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if settings is not None and settings.api_key_file:
            named.append(Path(settings.api_key_file).expanduser().read_text(encoding="utf-8").strip())
    return tuple(value for value in named if value)


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """What a child that needs no key is given: without whatever is called a key, a token, a secret or a password."""
    return {name: value for name, value in environment.items() if not _SECRET_NAME.search(name)}


def secrets_at(home: Home) -> tuple[str, ...]:
    """The same for whoever has no settings yet, or wrong ones: with the key file that the home's settings name, as far
    as they can be read, and with those that lie in the home. Raises nothing."""
    settings = None
    with contextlib.suppress(ConfigError, OSError, UnicodeDecodeError):  # What is wrong with them is told elsewhere.
        settings = load_settings(home.config).llm
    found = list(known_secrets(settings))
    for file in home.path.glob("*.key"):
        with contextlib.suppress(OSError, UnicodeDecodeError):
            if file.is_file():
                found.append(file.read_text(encoding="utf-8").strip())
    return tuple(value for value in found if value)


def where_key_is(settings: LlmSettings, provider: str) -> str:
    """The setting or the environment variable that would give `provider` its key, never the key; empty: none does.

    A provider that was not chosen is not called, whatever key lies about.
    """
    if settings.api_key_file:
        return "llm.api_key_file"
    own = f"{provider.upper()}_API_KEY"
    return next((name for name in ("REVERIES_API_KEY", own) if os.environ.get(name)), "")
