"""Checks of the settings, what they point to, and what is installed, without starting anything."""

import re
from collections.abc import Iterator
from pathlib import Path

from reveries.api_keys import find_key_source
from reveries.client.checkup.machine import CheckupMachine
from reveries.config import Home, LlmSettings, Settings, load_settings, read_toml
from reveries.errors import ConfigError
from reveries.protocol import Finding, make_finding

_HOSTED = ("openai", "anthropic", "cerebras", "openrouter")
_NEEDED = {
    "aiosqlite": "aiosqlite",
    "apscheduler": "apscheduler",
    "icalendar": "icalendar",
    "numpy": "numpy",
    "ollama": "ollama",
    "onnxruntime": "onnxruntime",
    "recurring_ical_events": "recurring-ical-events",
    "structlog": "structlog",
    "tokenizers": "tokenizers",
    "xllamacpp": "xllamacpp",
}
_ADVISED = {"numba": "numba", "sqlite_vec": "sqlite-vec"}


def check_settings_file(home: Home) -> tuple[Settings | None, list[Finding]]:
    """Load the settings; on an error return None and a finding with the line of the file."""
    file = home.config
    try:
        return load_settings(file), []
    except ConfigError as error:
        return None, [_locate_finding(file, error)]


def check_settings_targets(settings: Settings, home: Home, machine: CheckupMachine) -> list[Finding]:
    """Check API keys, calendar, database folder, packages and path files."""
    return [
        *check_keys(settings.llm),
        *_check_paths(settings, home),
        *_check_packages(settings.llm, machine),
        *_check_path_files(machine),
    ]


def find_key_line(text: str, key: str) -> int:
    """Return the line (from 1) of a dotted `key` in a TOML file, or of its table; 1 if not found."""
    table, best = "", 1
    for number, row in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[\[?\s*([^\]]+?)\s*\]", row):
            table = re.sub(r"[\"'\s]", "", header.group(1))
            if key == table or key.startswith(f"{table}."):
                best = number
        elif name := re.match(r"\s*([\w.\"'-]+)\s*=", row):
            full = ".".join(filter(None, (table, re.sub(r"[\"']", "", name.group(1)))))
            if full == key or key.startswith(f"{full}."):
                return number
    return best


def hosted_providers(llm: LlmSettings) -> list[str]:
    """List the hosted providers that the settings name for any role."""
    named = [
        llm.provider,
        llm.embedding_model,
        *llm.conversation_fallbacks,
        *llm.monologue_fallbacks,
        *llm.consolidation_fallbacks,
        *llm.work_fallbacks,
    ]
    if llm.provider != "openrouter":
        named += [llm.conversation_model, llm.monologue_model, llm.consolidation_model, llm.work_model]
    return [provider for provider in _HOSTED if any(name.partition("/")[0] == provider for name in named)]


def _locate_finding(file: Path, error: ConfigError) -> Finding:
    """Return the finding for a settings error, with its line."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        return make_finding("config-not-text", error.message, error.advice, str(file))
    except OSError:
        return make_finding("config-unreadable", error.message, error.advice, str(file))
    try:
        read_toml(file)
    except ConfigError:
        number = re.search(r"at line (\d+)", error.message)
        # An error without a line number is about the end of the file.
        line = int(number.group(1)) if number else max(1, len(text.splitlines()))
        return make_finding("config-not-toml", error.message, f"Fix line {line} of {file}.", f"{file}:{line}")
    key = re.search(r"setting (\S+)", error.message)
    where = f"{file}:{find_key_line(text, key.group(1))}" if key else str(file)
    is_unknown = error.message.startswith("There is no setting")
    return make_finding(
        "config-unknown-key" if is_unknown else "config-wrong-value", error.message, error.advice, where
    )


def check_keys(llm: LlmSettings) -> Iterator[Finding]:
    """Check the API keys of the chosen providers."""
    if llm.api_key_file:
        yield from _check_key_file(Path(llm.api_key_file).expanduser())
        return
    for provider in hosted_providers(llm):
        if not find_key_source(llm, provider):
            sentence = f"{provider} is chosen, but there is no API key for it."
            advice = (
                f"Name a file with it: reveries config set llm.api_key_file FILE. Or set {provider.upper()}_API_KEY."
            )
            yield make_finding("key-missing", sentence, advice, "llm.api_key_file")


def _check_key_file(file: Path) -> Iterator[Finding]:
    try:
        mode = file.stat().st_mode
        is_empty = not file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        yield make_finding("key-file-unreadable", f"The key file {file} cannot be read: {why}.", where=str(file))
        return
    if mode & 0o077:
        yield make_finding("key-file-mode", f"The key file {file} can be read by others.", where=str(file))
    if is_empty:
        yield make_finding("key-file-empty", f"The key file {file} is empty.", where=str(file))


def _check_paths(settings: Settings, home: Home) -> Iterator[Finding]:
    calendar = settings.calendar.path
    if calendar and not Path(calendar).expanduser().exists():
        sentence = f"The calendar {calendar} does not exist."
        yield make_finding(
            "calendar-missing", sentence, "Fix it: reveries config set calendar.path FILE", "calendar.path"
        )
    folder = home.database(settings).parent
    if settings.storage.db_path and not folder.is_dir():
        sentence = f"The database folder {folder} does not exist."
        yield make_finding("database-folder-missing", sentence, where="storage.db_path")


def _check_path_files(machine: CheckupMachine) -> Iterator[Finding]:
    for file in machine.path_files():
        yield make_finding(
            "path-file", f"{file} runs code whenever Python starts, and belongs to no installed package.", where=file
        )


def _check_packages(llm: LlmSettings, machine: CheckupMachine) -> Iterator[Finding]:
    for package, name in _NEEDED.items():
        if not machine.is_installed(package):
            yield make_finding("package-missing", f"The Python package {name} is not installed.", where=name)
    for package, name in _ADVISED.items():
        if not machine.is_installed(package):
            yield make_finding(
                "package-advised", f"The Python package {name} is not installed: recall is slower.", where=name
            )
    hosted = hosted_providers(llm)
    if hosted and not machine.is_installed("litellm"):
        yield make_finding("hosted-missing", f"{hosted[0]} is chosen, but litellm is not installed.", where="litellm")
