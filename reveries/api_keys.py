"""API keys of providers: finding them, and the secrets that must never be logged or shown."""

import contextlib
import os
import re
from collections.abc import Mapping
from pathlib import Path

from reveries.config import Home, LlmSettings, load_settings
from reveries.errors import ConfigError
from reveries.own_files import is_own_file

_SECRET_NAME = re.compile(r"(?i)(?:key|token|secret|passw(?:or)?d|passphrase|credential)s?$")


def find_api_key(settings: LlmSettings) -> str:
    """Return the hosted provider's key from `api_key_file`, else from REVERIES_API_KEY; empty if there is none.

    Raises ConfigError for a file that cannot be read, or that other users can read.
    """
    if not settings.api_key_file:
        return os.environ.get("REVERIES_API_KEY", "")
    return read_private_file(Path(settings.api_key_file).expanduser(), "llm.api_key_file")


def read_private_file(file: Path, setting: str) -> str:
    """Read a secret from a file that only the owner can read. Raises ConfigError, which names the setting."""
    try:
        if not is_own_file(file):
            raise ConfigError(f"The key file {file} is not a regular file that you own.", advice=f"Check {setting}.")
        if file.stat().st_mode & 0o077:
            raise ConfigError(f"Other users can read the key file {file}.", advice=f"Restrict it: chmod 600 {file}")
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"The key file {file} cannot be read: {getattr(error, 'strerror', None) or 'it is not text'}.",
            advice=f"Check {setting}.",
        ) from error


def known_secrets(settings: LlmSettings | None = None) -> tuple[str, ...]:
    """Return the known secrets: environment variables whose name says key, token, secret or password, and the content
    of the key file. Empty values are left out. Never raises."""
    secrets = [value for name, value in os.environ.items() if _SECRET_NAME.search(name)]
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if settings is not None and settings.api_key_file:
            secrets.append(Path(settings.api_key_file).expanduser().read_text(encoding="utf-8").strip())
    return tuple(value for value in secrets if value)


def remove_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a child process that needs no key, without variables named like a secret."""
    return {name: value for name, value in environment.items() if not _SECRET_NAME.search(name)}


def load_home_secrets(home: Home) -> tuple[str, ...]:
    """Return `known_secrets` when the settings are not loaded yet, or invalid: with the key file that they name, as far
    as they can be read, and the key files in the home. Never raises."""
    settings = None
    with contextlib.suppress(ConfigError, OSError, UnicodeDecodeError):  # Invalid settings are reported elsewhere.
        settings = load_settings(home.config).llm
    secrets = list(known_secrets(settings))
    for file in home.path.glob("*.key"):
        with contextlib.suppress(OSError, UnicodeDecodeError):
            if file.is_file():
                secrets.append(file.read_text(encoding="utf-8").strip())
    return tuple(value for value in secrets if value)


def find_key_source(settings: LlmSettings, provider: str) -> str:
    """Return the name of the setting or environment variable that has a key for `provider`; empty if there is none.

    Never returns the key. A provider that was not chosen is not called, even if there is a key for it. The file and
    REVERIES_API_KEY belong to one provider: that of `llm.provider`, where it is hosted.
    """
    own_variable = f"{provider.upper()}_API_KEY"
    is_local = settings.provider in ("auto", "embedded", "ollama")
    if is_local or settings.provider == provider:
        if settings.api_key_file:
            return "llm.api_key_file"
        if os.environ.get("REVERIES_API_KEY"):
            return "REVERIES_API_KEY"
    return own_variable if os.environ.get(own_variable) else ""
