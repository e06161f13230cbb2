"""What commands write with --json where it is no frame of the protocol, and which command writes what.

docs/reference/json.md is made from this. Fields may be added; none is taken away or given another meaning.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from reveries import protocol
from reveries.client.features.digest import Digest


class Woken(msgspec.Struct, frozen=True):
    """`was_awake`: it was awake already, and was left as it is. `safe_because`: why it is in safe mode; else empty.
    `worries`: what it woke without and will miss, as the key of a provider that is chosen."""

    pid: int
    mind: str
    was_awake: bool
    safe_because: str = ""
    worries: list[str] = []


class FellAsleep(msgspec.Struct, frozen=True):
    """`was_awake`: false when it slept already."""

    was_awake: bool


class SaidUsage(msgspec.Struct, frozen=True):
    """What the reply cost. Seconds from the words on."""

    model: str
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    first_token_seconds: float
    seconds: float


class Said(msgspec.Struct, frozen=True):
    """The reply, whole. `stored`: the ids of what is on the disk, by "words" and "exchange"; empty off the record."""

    text: str
    reason: str
    explanation: str
    help: str
    recalled: list[protocol.RecalledItem]
    stored: dict[str, str]
    usage: SaidUsage


class BroughtIn(msgspec.Struct, frozen=True):
    """Turns that were new, turns that were known, episodes made of what waited for sleep; turns that were not taken in,
    for the owner had erased them or words that stand in them."""

    stored: int
    known_already: int
    episodes: int
    erased: int


class SettingShown(msgspec.Struct, frozen=True):
    """`value` as it stands in config.toml; secrets are masked."""

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
    """The file that now names this server to a program, and the command in it."""

    client: str
    file: str
    command: str
    arguments: list[str]


class PlaceShown(msgspec.Struct, frozen=True):
    path: str
    exists: bool


class Places(msgspec.Struct, frozen=True):
    """With WHAT that one alone."""

    home: PlaceShown
    config: PlaceShown
    memory: PlaceShown
    backups: PlaceShown
    logs: PlaceShown
    socket: PlaceShown
    models: PlaceShown
    service: PlaceShown


class Diagnosis(msgspec.Struct, frozen=True):
    """`mended`: a sentence for each thing that --fix did."""

    findings: list[protocol.Finding]
    looked_at: list[str]
    not_looked_at: list[str]
    mended: list[str]


class ServiceInstalled(msgspec.Struct, frozen=True):
    """`left_to_do`: what the service manager could not be told, as commands for you."""

    file: str
    left_to_do: list[str]


class ServiceState(msgspec.Struct, frozen=True):
    """`manager` is empty where none answers."""

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
    """`files` go, `stays` were not made by Reveries; `was_removed` is false for a dry run."""

    files: list[str]
    stays: list[str]
    bytes: int
    was_removed: bool
    left_to_do: list[str]


class AllContradictions(msgspec.Struct, frozen=True):
    """`contradictions`: in what was said. `projects`: in what projects know."""

    contradictions: list[protocol.Contradiction]
    projects: list[protocol.ProjectConflict]


class Searched(msgspec.Struct, frozen=True):
    """How often the words stand in each file of the home, in whatever form; nowhere: `found` is empty. `longer_words`:
    what stands there with letters or digits beside it ("history" for "Tor"), each with how often."""

    found: dict[str, dict[str, int]]
    files: int
    bytes: int
    passed_over: list[str]
    longer_words: dict[str, int]


class Pulled(msgspec.Struct, frozen=True):
    """The models that are here now, in the order of their names, each with where its last file came from (empty: all
    of it was here, or Ollama fetched it)."""

    models: list["PulledModel"]


class PulledModel(msgspec.Struct, frozen=True):
    name: str
    source: str


class ModelChosen(msgspec.Struct, frozen=True):
    """The chat model that will be used, and why, in a sentence; `model` is empty where it is a provider's or Ollama's,
    and nothing is fetched. `source`: where its last file came from (empty: it was here). `written`: the settings name
    it from now on."""

    model: str
    why: str
    source: str
    written: bool


class ProgressLine(msgspec.Struct, frozen=True):
    """How far long work is: what is being done, how much of it is done, of how much (0: not known), in "bytes" or in
    things that are counted ("")."""

    doing: str
    done: int
    total: int
    unit: str


OF_COMMANDS: Final[Mapping[str, type[msgspec.Struct]]] = {
    "wake": Woken,
    "sleep": FellAsleep,
    "status": protocol.Status,
    "doctor": Diagnosis,
    "usage": protocol.UsageReport,
    "wellbeing": protocol.Wellbeing,
    "say": Said,
    "remember": protocol.Remembered,
    "forget": protocol.Forgotten,
    "forget --verify": Searched,
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
    "import": BroughtIn,
    "import --mind": protocol.MindMoved,
    "export": protocol.MindMoved,
    "backup create": protocol.Backups,
    "backup list": protocol.Backups,
    "backup verify": protocol.Backups,
    "backup restore": protocol.BackupRestored,
    "models": protocol.ModelsOverview,
    "models test": protocol.ModelsProbed,
    "models choose": ModelChosen,
    "models pull": Pulled,
    "open": Places,
    "service install": ServiceInstalled,
    "service status": ServiceState,
    "service uninstall": ServiceRemoved,
    "uninstall": Uninstalled,
}
"""By command: the struct whose fields its object has."""

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
"""What writes how far it is on stderr, with --json as lines of ProgressLine."""

OF_NO_STRUCT: Final[Mapping[str, str]] = {
    "init": "The questions with their choices, and what was written.",
    "config": "The settings in force, as in config.toml: tables of keys, secrets masked.",
    "logs": "One object a line: timestamp, level, logger, event, and what belongs to the event.",
}
"""What has no struct, in words."""
