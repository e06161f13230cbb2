"""The JSON that commands print with --json, where it is not a frame of the protocol; and the struct of each command.

docs/reference/json.md is generated from this. Fields may be added; none may be removed or change its meaning.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from reveries import protocol
from reveries.client.features.digest import Digest


class WakeResult(msgspec.Struct, frozen=True):
    """`was_awake`: it was already awake, and was not restarted. `safe_because`: why it is in safe mode; else empty.
    `worries`: problems that did not prevent waking, such as a missing key of the chosen provider."""

    pid: int
    mind: str
    was_awake: bool
    safe_because: str = ""
    worries: list[str] = []


class SleepResult(msgspec.Struct, frozen=True):
    """`was_awake`: false if it was already asleep."""

    was_awake: bool


class SayUsage(msgspec.Struct, frozen=True):
    """Model, tokens and time of the reply. Seconds count from the request."""

    model: str
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    first_token_seconds: float
    seconds: float


class SayResult(msgspec.Struct, frozen=True):
    """The complete reply. `stored`: the ids of the stored turns, by "words" and "exchange"; empty off the record."""

    text: str
    reason: str
    explanation: str
    help: str
    recalled: list[protocol.RecalledItem]
    stored: dict[str, str]
    usage: SayUsage


class ImportResult(msgspec.Struct, frozen=True):
    """The number of turns that were new and already known, of episodes created by light sleep, and of turns refused
    because the owner had erased them or words in them."""

    stored: int
    known_already: int
    episodes: int
    erased: int


class SettingShown(msgspec.Struct, frozen=True):
    """`value` as in config.toml; secrets are masked."""

    key: str
    value: object
    meaning: str


class SettingChanged(msgspec.Struct, frozen=True):
    """`counts`: "now", "after a restart" or "from the next wake on"."""

    key: str
    value: object
    file: str
    counts: str


class ProgramsAllowed(msgspec.Struct, frozen=True):
    """The programs that may change projects through `reveries mcp serve`."""

    may_write: list[str]


class ClientConfigured(msgspec.Struct, frozen=True):
    """The settings file of an MCP client to which this server was added, and the command in it."""

    client: str
    file: str
    command: str
    arguments: list[str]


class PlaceShown(msgspec.Struct, frozen=True):
    path: str
    exists: bool


class Places(msgspec.Struct, frozen=True):
    """With WHAT, only that one."""

    home: PlaceShown
    config: PlaceShown
    memory: PlaceShown
    backups: PlaceShown
    logs: PlaceShown
    socket: PlaceShown
    models: PlaceShown
    service: PlaceShown


class Diagnosis(msgspec.Struct, frozen=True):
    """`mended`: a sentence for each fix that --fix applied."""

    findings: list[protocol.Finding]
    looked_at: list[str]
    not_looked_at: list[str]
    mended: list[str]


class ServiceInstalled(msgspec.Struct, frozen=True):
    """`left_to_do`: commands to run yourself, because the service manager failed."""

    file: str
    left_to_do: list[str]


class ServiceState(msgspec.Struct, frozen=True):
    """`manager` is empty if no service manager is available."""

    file: str
    is_installed: bool
    manager: str
    is_enabled: bool
    is_running: bool


class ServiceRemoved(msgspec.Struct, frozen=True):
    file: str
    was_installed: bool
    left_to_do: list[str]


class Uninstalled(msgspec.Struct, frozen=True):
    """`files` are removed; `stays` are kept, as Reveries did not create them. `was_removed` is false for a dry run."""

    files: list[str]
    stays: list[str]
    bytes: int
    was_removed: bool
    left_to_do: list[str]


class AllContradictions(msgspec.Struct, frozen=True):
    """`contradictions`: in conversations. `projects`: in the knowledge of projects."""

    contradictions: list[protocol.Contradiction]
    projects: list[protocol.ProjectConflict]


class TraceSearchResult(msgspec.Struct, frozen=True):
    """`found`: the number of matches in each file of the home, by form; empty if there are none. `longer_words`: words
    that contain the searched one ("history" for "Tor"), with the number of each."""

    found: dict[str, dict[str, int]]
    files: int
    bytes: int
    passed_over: list[str]
    longer_words: dict[str, int]


class PullResult(msgspec.Struct, frozen=True):
    """The models that are on this machine now, in the order given, each with the source of its last file (empty: it was
    already here, or Ollama pulled it)."""

    models: list["PulledModel"]


class PulledModel(msgspec.Struct, frozen=True):
    name: str
    source: str


class ModelChosen(msgspec.Struct, frozen=True):
    """The chat model that will be used, and why, in a sentence; `model` is empty if it is a provider's or Ollama's, and
    nothing is downloaded. `source`: where its last file came from (empty: it was already here). `written`: whether the
    settings now name it."""

    model: str
    why: str
    source: str
    written: bool


class ProgressLine(msgspec.Struct, frozen=True):
    """Progress: what is being done, how much of it is done, the total (0: unknown), and the unit: "bytes", or "" for
    counted items."""

    doing: str
    done: int
    total: int
    unit: str


OF_COMMANDS: Final[Mapping[str, type[msgspec.Struct]]] = {
    "wake": WakeResult,
    "sleep": SleepResult,
    "status": protocol.Status,
    "doctor": Diagnosis,
    "usage": protocol.UsageReport,
    "wellbeing": protocol.Wellbeing,
    "say": SayResult,
    "remember": protocol.Remembered,
    "forget": protocol.Forgotten,
    "forget --verify": TraceSearchResult,
    "memory pin": protocol.EpisodeHeld,
    "memory unpin": protocol.EpisodeHeld,
    "memory salience": protocol.EpisodeHeld,
    "memory correct": protocol.EpisodeCorrected,
    "digest": Digest,
    "consolidate": protocol.Consolidated,
    "consolidate --dry-run": protocol.SleepPreview,
    "consolidate log": protocol.SleepLog,
    "consolidate log RUN": protocol.SleepRunDetail,
    "consolidate undo": protocol.SleepUndone,
    "consolidate confirm": protocol.SleepAnswered,
    "consolidate drop": protocol.SleepAnswered,
    "memory": protocol.MemoryStats,
    "memory search": protocol.Found,
    "memory inspect": protocol.EpisodeDetail,
    "memory why": protocol.Why,
    "memory timeline": protocol.Timeline,
    "memory graph": protocol.Neighbourhood,
    "memory contradictions": AllContradictions,
    "memory contradictions settle": protocol.Contradictions,
    "context": protocol.ToldContext,
    "self": protocol.SelfModelShown,
    "self history": protocol.SelfHistory,
    "self revert": protocol.SelfModelShown,
    "self edit": protocol.SelfModelShown,
    "monologue history": protocol.Thoughts,
    "monologue pause": protocol.ThinkingControlled,
    "monologue resume": protocol.ThinkingControlled,
    "monologue release": protocol.ThinkingReleased,
    "monologue step": protocol.ThinkingControlled,
    "monologue nudge": protocol.ThinkingControlled,
    "monologue pin": protocol.ThoughtMarked,
    "monologue drop": protocol.ThoughtMarked,
    "notes": protocol.Notes,
    "notes dismiss": protocol.Notes,
    "project": protocol.Projects,
    "project list": protocol.Projects,
    "project new": protocol.ProjectDetail,
    "project goal": protocol.ProjectDetail,
    "project status": protocol.ProjectDetail,
    "project tasks": protocol.ProjectDetail,
    "project log": protocol.ProjectDetail,
    "project log --why": protocol.TaskTrace,
    "project add": protocol.Chunks,
    "project know": protocol.Chunks,
    "project chunks": protocol.Chunks,
    "project graph": protocol.ProjectRelations,
    "project relations": protocol.ProjectRelations,
    "project retract": protocol.ProjectDetail,
    "project orientation": protocol.Orientations,
    "project pause": protocol.ProjectDetail,
    "project resume": protocol.ProjectDetail,
    "project archive": protocol.ProjectDetail,
    "project folder": protocol.ProjectDetail,
    "project undo-task": protocol.TaskUndone,
    "grant list": protocol.Grants,
    "grant give": protocol.Grants,
    "grant revoke": protocol.Grants,
    "work": protocol.Projects,
    "work --now": protocol.Worked,
    "questions": protocol.OpenQuestions,
    "questions answer": protocol.QuestionAnswered,
    "config get": SettingShown,
    "config set": SettingChanged,
    "mcp allow": ProgramsAllowed,
    "mcp list": ProgramsAllowed,
    "mcp install": ClientConfigured,
    "mcp servers": protocol.ToolServers,
    "import": ImportResult,
    "import --mind": protocol.MindMoved,
    "export": protocol.MindMoved,
    "backup create": protocol.Backups,
    "backup list": protocol.Backups,
    "backup verify": protocol.Backups,
    "backup restore": protocol.BackupRestored,
    "models": protocol.ModelsOverview,
    "models test": protocol.ModelsProbed,
    "models choose": ModelChosen,
    "models pull": PullResult,
    "open": Places,
    "service install": ServiceInstalled,
    "service status": ServiceState,
    "service uninstall": ServiceRemoved,
    "uninstall": Uninstalled,
}
"""By command: the struct of its JSON object."""

TAKE_LONG: Final = (
    "models choose",
    "models pull",
    "models test",
    "import",
    "export",
    "backup create",
    "backup verify",
    "backup restore",
    "consolidate",
    "consolidate undo",
    "consolidate confirm",
    "consolidate drop",
    "forget",
    "sleep",
)
"""Commands that report progress on stderr; with --json as lines of ProgressLine."""

OF_NO_STRUCT: Final[Mapping[str, str]] = {
    "init": "The questions with their choices, and what was written.",
    "config": "The settings in use, as in config.toml: tables of keys, secrets masked.",
    "logs": "One object per line: timestamp, level, logger, event, and the fields of the event.",
}
"""Commands without a struct: a description of their JSON."""
