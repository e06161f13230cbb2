"""Settings: loaded once, validated, immutable, passed as arguments. `config.toml` next to this file has all defaults.

No other module but `api_keys` reads the environment. This module opens only the two settings files.
"""

import difflib
import os
import re
import tomllib
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal, cast

import msgspec

from reveries import own_files
from reveries.errors import ConfigError, HomeError
from reveries.keys import KeySettings
from reveries.mcp_settings import McpSettings
from reveries.settings_checks import refuse_empty_hours, refuse_no_address, refuse_no_embedder

Fraction = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
# Bounded above because a timer cannot wait for ever: `inf` is refused like any other wrong value.
Positive = Annotated[float, msgspec.Meta(gt=0.0, le=1e9)]
NotNegative = Annotated[float, msgspec.Meta(ge=0.0, le=1e9)]
Count = Annotated[int, msgspec.Meta(ge=1)]
AUTO_MODEL = "auto"
"""The value of llm.embedded.model that means the best known model that is on this machine."""
NAMED_TABLES = ("mcp.servers.",)
"""Prefixes of keys that continue with a name chosen by the owner."""
ModelName = Annotated[str, msgspec.Meta(min_length=1)]
ReasoningEffort = Literal["auto", "none", "minimal", "low", "medium", "high"]
Provider = Literal["auto", "embedded", "ollama", "openai", "anthropic", "cerebras", "openrouter"]

# A unix socket's path must fit into the kernel's `sun_path`: 108 bytes on Linux, 104 on macOS, with the final zero.
SOCKET_PATH_LIMIT_BYTES = 103
# The unsent message of a terminal, and the partial file of an interrupted save of it.
_DRAFT = re.compile(r"draft(-\d+)?\.txt(\.\w+)?")


class _SettingsSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of config.toml: immutable; unknown keys are refused."""


class OwnerSettings(_SettingsSection, frozen=True):
    name: str


class MindSettings(_SettingsSection, frozen=True):
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=60)]


class EmbeddedSettings(_SettingsSection, frozen=True):
    model: Annotated[str, msgspec.Meta(min_length=1)]
    context_tokens: Annotated[int, msgspec.Meta(ge=0, le=1048576)]
    threads: Annotated[int, msgspec.Meta(ge=0, le=256)]
    niceness: Annotated[int, msgspec.Meta(ge=0, le=19)]
    unload_after_idle_minutes: Positive


class OllamaSettings(_SettingsSection, frozen=True):
    thinking: bool
    keep_alive_minutes: NotNegative
    context_tokens: Annotated[int, msgspec.Meta(ge=1024, le=1048576)]


class LimitSettings(_SettingsSection, frozen=True):
    first_token_seconds: Positive
    idle_seconds: Positive
    total_seconds: Positive
    reply_tokens: Annotated[int, msgspec.Meta(ge=0, le=65536)]
    reply_bytes: Annotated[int, msgspec.Meta(ge=1024)]


class HostedLimitSettings(_SettingsSection, frozen=True):
    first_token_seconds: Positive
    idle_seconds: Positive
    total_seconds: Positive


class LlmSettings(_SettingsSection, frozen=True):
    provider: Provider
    conversation_model: str
    monologue_model: str
    consolidation_model: str
    work_model: str
    conversation_fallbacks: tuple[ModelName, ...]
    monologue_fallbacks: tuple[ModelName, ...]
    consolidation_fallbacks: tuple[ModelName, ...]
    work_fallbacks: tuple[ModelName, ...]
    conversation_reasoning_effort: ReasoningEffort
    monologue_reasoning_effort: ReasoningEffort
    consolidation_reasoning_effort: ReasoningEffort
    work_reasoning_effort: ReasoningEffort
    embedding_model: Annotated[str, msgspec.Meta(min_length=1)]
    base_url: str
    believe_base_url: bool
    api_key_file: str
    unlisted_input_dollars: Annotated[float, msgspec.Meta(ge=-1)]
    unlisted_output_dollars: Annotated[float, msgspec.Meta(ge=-1)]
    ollama_url: str
    embedded: EmbeddedSettings
    ollama: OllamaSettings
    limits: LimitSettings
    hosted_limits: HostedLimitSettings


class RoleBudget(_SettingsSection, frozen=True):
    tokens_per_day: Annotated[int, msgspec.Meta(ge=0)]
    tokens_per_month: Annotated[int, msgspec.Meta(ge=0)]
    dollars_per_day: NotNegative
    dollars_per_month: NotNegative


class BudgetSettings(RoleBudget, frozen=True):
    """The limits of all roles together, and of each role."""

    conversation_reserve_share: Fraction
    conversation: RoleBudget
    monologue: RoleBudget
    consolidation: RoleBudget
    work: RoleBudget
    learning: RoleBudget
    reading: RoleBudget
    embedding: RoleBudget


class ConversationSettings(_SettingsSection, frozen=True):
    rest_minutes: Positive
    new_after_hours: Positive


class MonologueSettings(_SettingsSection, frozen=True):
    enabled: bool
    max_tokens_per_cycle: Count
    target_tokens_per_second: Positive
    idle_check_seconds: Positive
    settle_tokens_per_second: NotNegative
    settle_window_tokens: Count
    settle_ask_after_tokens: Annotated[int, msgspec.Meta(ge=0)]
    settle_ask_again_tokens: Count
    quiet_hours: tuple[Annotated[str, msgspec.Meta(pattern=r"^([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d$")], ...]
    on_battery: bool
    notes_per_day: NotNegative


class CalendarSettings(_SettingsSection, frozen=True):
    path: str
    lead_minutes: NotNegative


class MemorySettings(_SettingsSection, frozen=True):
    raw_retention_hours: NotNegative
    consolidation_interval_hours: Positive
    consolidation_volume: Count
    decay_half_life_days: Positive
    minimum_salience: Fraction
    dormant_accessibility: Fraction
    dormant_salience: Fraction
    dormant_after_idle_days: NotNegative
    live_episodes: Count
    self_model_salience: Fraction
    merge_cosine: Fraction
    merge_window_hours: NotNegative
    ask_above_share: Fraction
    ask_above_count: Annotated[int, msgspec.Meta(ge=0)]


class RecallSettings(_SettingsSection, frozen=True):
    seeds: Annotated[int, msgspec.Meta(ge=1, le=100)]
    max_hops: Annotated[int, msgspec.Meta(ge=0, le=8)]
    decay_per_hop: Fraction
    activation_threshold: NotNegative
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)]
    date_order: Literal["auto", "day-month", "month-day"]


class BreakerSettings(_SettingsSection, frozen=True):
    enabled: bool
    distress_threshold: Fraction
    max_consecutive_distress: Count
    max_tokens_per_second: Positive
    loop_window_tokens: Annotated[int, msgspec.Meta(ge=16)]
    cool_down_seconds: Annotated[float, msgspec.Meta(ge=0, le=86_400)]


class CrisisSettings(_SettingsSection, frozen=True):
    enabled: bool
    contacts: list[Annotated[str, msgspec.Meta(min_length=1, max_length=200)]]


class ProjectSettings(_SettingsSection, frozen=True):
    enabled: bool
    most_tasks: Count
    rest_minutes: Positive
    orientation_tokens: Count
    most_steps: Count
    task_minutes: Positive


class WebSettings(_SettingsSection, frozen=True):
    enabled: bool
    search_url: Annotated[str, msgspec.Meta(max_length=500)]


class StorageSettings(_SettingsSection, frozen=True):
    db_path: str
    warn_below_free_megabytes: Annotated[int, msgspec.Meta(ge=0)]
    rest_below_free_megabytes: Annotated[int, msgspec.Meta(ge=0)]
    backups_most_share: Annotated[float, msgspec.Meta(ge=0.01, le=0.9)]


class ClientSettings(_SettingsSection, frozen=True):
    theme: Annotated[str, msgspec.Meta(min_length=1, max_length=60)]
    plain: bool
    keys: KeySettings


class LogSettings(_SettingsSection, frozen=True):
    level: Literal["debug", "info", "warning", "error"]


class Settings(_SettingsSection, frozen=True):
    """All of config.toml, validated."""

    owner: OwnerSettings
    mind: MindSettings
    llm: LlmSettings
    budget: BudgetSettings
    conversation: ConversationSettings
    monologue: MonologueSettings
    calendar: CalendarSettings
    memory: MemorySettings
    recall: RecallSettings
    circuit_breaker: BreakerSettings
    crisis: CrisisSettings
    projects: ProjectSettings
    web: WebSettings
    mcp: McpSettings
    storage: StorageSettings
    client: ClientSettings
    log: LogSettings


class Home(msgspec.Struct, frozen=True):
    """The folder of a mind, and the paths in it."""

    path: Path

    @property
    def config(self) -> Path:
        return self.path / "config.toml"

    @property
    def socket(self) -> Path:
        return self.path / "daemon.sock"

    @property
    def lock(self) -> Path:
        return self.path / "daemon.lock"

    @property
    def model_socket(self) -> Path:
        return self.path / "model.sock"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def backups(self) -> Path:
        return self.path / "backups"

    @property
    def originals(self) -> Path:
        """Files of the owner that projects read, as they came."""
        return self.path / "originals"

    @property
    def folder_copies(self) -> Path:
        """Copies of projects' folders, made before a task changed them."""
        return self.path / "undo"

    @property
    def draft(self) -> Path:
        """The message that was unsent when the terminal was closed."""
        return self.path / "draft.txt"

    def is_draft(self, file: Path) -> bool:
        """Whether the terminal wrote `file`, completely or partially; false for the owner's files with similar
        names."""
        return file.parent == self.path and bool(_DRAFT.fullmatch(file.name))

    @property
    def themes(self) -> Path:
        """The owner's colour themes, one file NAME.toml each."""
        return self.path / "themes"

    @property
    def database_default(self) -> Path:
        return self.path / "memory.db"

    def database(self, settings: Settings) -> Path:
        """Return the path of the memory: `storage.db_path`, or memory.db in the home."""
        chosen = settings.storage.db_path
        path = Path(chosen).expanduser() if chosen else self.database_default
        return path.resolve() if path.is_symlink() else path

    def check(self) -> None:
        """Raise HomeError if the path is too long for a socket."""
        longest = max(len(os.fsencode(p)) for p in (self.socket, self.model_socket))
        if longest > SOCKET_PATH_LIMIT_BYTES:
            raise HomeError(
                f"The path of the home {self.path} is too long: its socket's path has {longest} bytes, "
                f"and the system allows {SOCKET_PATH_LIMIT_BYTES}.",
                advice="Choose a shorter one: REVERIES_HOME=~/r reveries wake",
            )

    def create(self) -> None:
        """Create the folder and its subfolders, readable only by the owner. Raises HomeError."""
        self.check()
        try:
            owner = own_files.expected_owner(self.path)
            own_files.refuse_unsafe(own_files.find_folder_fault(self.path, owner))
            if above := own_files.find_open_ancestor(self.path, owner):
                own_files.refuse_unsafe(above.fault, above.advice("REVERIES_HOME=~/elsewhere reveries wake"))
            for folder in (self.path, self.logs, self.backups):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path.chmod(0o700)
            own_files.refuse_unsafe(own_files.find_home_fault(self.path, owner))
        except OSError as error:
            raise HomeError(
                f"The home {self.path} cannot be created: {error.strerror}.",
                advice="Choose a folder that you can write to: REVERIES_HOME=~/elsewhere reveries wake",
            ) from error
        if not os.access(self.path, os.W_OK | os.X_OK) or own_files.is_read_only(self.path):
            raise HomeError(
                f"The home {self.path} is not writable.",
                advice="Make it writable, or choose another: REVERIES_HOME=~/elsewhere reveries wake",
            )


def find_home() -> Home:
    """Return the home: REVERIES_HOME, or `~/.reveries`. The only place that reads the variable."""
    return Home(Path(os.environ.get("REVERIES_HOME") or "~/.reveries").expanduser().absolute())


def find_models_folder() -> Path:
    """Return the folder of model weights, shared by all homes: REVERIES_MODELS, or the user's data folder."""
    if chosen := os.environ.get("REVERIES_MODELS"):
        return Path(chosen).expanduser().absolute()
    # Imported here to keep the start of the client fast.
    from platformdirs import user_data_path

    return user_data_path("reveries") / "models"


def load_settings(file: Path | None) -> Settings:
    """Load the settings: the defaults, overridden by `file` if it is given and exists.

    Raises ConfigError, which names the file and the key or line that is wrong.
    """
    chosen = read_toml(file) if file is not None and file.exists() else {}
    return build_settings(chosen, str(file))


def build_settings(chosen: dict[str, object], source: str) -> Settings:
    """Build settings from the defaults and the tables `chosen`. Raises ConfigError, which names `source` and the
    key."""
    defaults = tomllib.loads(read_default_toml())
    _refuse_unknown(chosen, defaults, source)
    return check_settings(_merge_tables(defaults, chosen), source)


def read_default_toml() -> str:
    """Return the text of the shipped config.toml, with its comments."""
    return resources.files("reveries").joinpath("config.toml").read_text(encoding="utf-8")


def read_toml(file: Path) -> dict[str, object]:
    """Return the tables of `file`. Raises ConfigError, which names file and line."""
    try:
        if file.exists() and not (file.is_file() or file.is_dir()):
            raise ConfigError(f"The settings file {file} is not a regular file.", advice="Move it away.")
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ConfigError(
            f"The settings file {file} cannot be read: {error.strerror}.", advice="Check its owner and its mode."
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"The settings file {file} is not UTF-8 text.", advice="Save it as UTF-8.") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"The settings file {file} is not valid TOML: {error}.", advice="Fix that line.") from error
    except RecursionError as error:
        raise ConfigError(f"The settings file {file} is nested too deeply.", advice="Remove brackets.") from error


def check_settings(tables: dict[str, object], source: str) -> Settings:
    """Validate `tables` and return them as Settings. Raises ConfigError, which names `source` and the key."""
    try:
        settings = msgspec.convert(tables, Settings)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at ")
        key = where.strip("`").removeprefix("key` in `").removeprefix("$.") or "?"
        is_known = key in known_keys()
        advice = f"Its meaning and default: reveries config get {key}" if is_known else "See: reveries config"
        raise ConfigError(
            f"The setting {key} in {source} is wrong: {what[:1].lower()}{what[1:]}.", advice=advice
        ) from error
    refuse_no_embedder(settings.llm.embedding_model, source)
    refuse_empty_hours(settings.monologue.quiet_hours, source)
    refuse_no_address(settings.llm.base_url, source)
    return settings


def get_setting(settings: Settings, key: str) -> object:
    """Return the value of a dotted `key`; a dict for a table. Raises ConfigError, which suggests the nearest key."""
    node: object = msgspec.to_builtins(settings)
    for part in key.split("."):
        if not isinstance(node, dict) or part not in node:
            raise ConfigError(f"There is no setting {key}.", advice=_suggest_key(key, known_keys()))
        node = node[part]
    return node


def known_keys() -> list[str]:
    """Return every dotted key of config.toml, in its order."""
    return _flatten_keys(tomllib.loads(read_default_toml()))


def describe_setting(key: str) -> str:
    """Return the comment above `key` in the shipped config.toml; empty if it has none."""
    table, _, name = key.rpartition(".")
    comment: list[str] = []
    current = ""
    for line in read_default_toml().splitlines():
        if header := re.fullmatch(r"\[([\w.]+)\]", line):
            current, comment = header.group(1), []
        elif line.startswith("# "):
            comment.append(line[2:])
        elif current == table and line.startswith(f"{name} ="):
            return " ".join(comment)
        else:
            comment = []
    return ""


def _merge_tables(base: dict[str, object], override: dict[str, object]) -> dict[str, object]:
    merged = dict(base)
    for key, value in override.items():
        base_value = merged.get(key)
        if isinstance(base_value, dict) and isinstance(value, dict):
            merged[key] = _merge_tables(cast("dict[str, object]", base_value), cast("dict[str, object]", value))
        else:
            merged[key] = value
    return merged


def _refuse_unknown(chosen: dict[str, object], defaults: dict[str, object], source: str) -> None:
    default_keys = _flatten_keys(defaults)
    tables = {key.rpartition(".")[0] for key in default_keys} - {""}
    for key in _flatten_keys(chosen):
        if key not in default_keys and key not in tables and not key.startswith(NAMED_TABLES):
            raise ConfigError(f"There is no setting {key} (in {source}).", advice=_suggest_key(key, default_keys))


def _flatten_keys(tables: dict[str, object], prefix: str = "") -> list[str]:
    keys: list[str] = []
    for name, value in tables.items():
        if isinstance(value, dict) and value:
            keys += _flatten_keys(cast("dict[str, object]", value), f"{prefix}{name}.")
        else:
            keys.append(f"{prefix}{name}")
    return keys


def _suggest_key(key: str, keys: list[str]) -> str:
    close = difflib.get_close_matches(key, keys, n=1, cutoff=0.5)
    if not close:
        close = [k for k in keys if k.rpartition(".")[2] == key.rpartition(".")[2]][:1]
    return f"Did you mean {close[0]}?" if close else "List all settings: reveries config"
