"""Messages about the daemon itself: state, settings, checkup, wellbeing, backups, shutdown."""

import msgspec

from reveries.protocol.memory import MemoryStats
from reveries.protocol.message import Answer, Ok, Progress, Request, RequestId
from reveries.protocol.models import ModelUse, UsageLimit, UsageToday
from reveries.protocol.registry import request


class BackupEntry(msgspec.Struct, frozen=True):
    """One backup. Times in unix seconds."""

    name: str
    made_at: float
    size_bytes: int
    is_before_migration: bool
    is_looked_at: bool = False
    """Whether the backup was checked; the fields below are set only then."""
    problems: list[str] = []
    """Why it cannot be restored; empty if it is intact."""
    rotten: list[str] = []
    """Texts that no longer match their checksum."""
    turns: int = 0
    episodes: int = 0


class Backups(Answer, frozen=True):
    """The backups, newest first."""

    folder: str
    backups: list[BackupEntry]


class MindMoved(Answer, frozen=True):
    """A whole mind was exported to a file, or imported from one. `check` is the checksum of the whole file."""

    file: str
    rows: int
    bytes: int
    with_vectors: bool
    check: str


class BackupRestored(Answer, frozen=True):
    """A backup was restored. What happened between `missing_from` and `missing_until` is not in it. `kept` is the path
    of the replaced file."""

    backup: str
    missing_from: float
    missing_until: float
    kept: str


class StateChanged(Answer, frozen=True):
    """request_id 0: the new state, e.g. "thinking", "settled", "talking", "consolidating", "asleep"."""

    state: str
    detail: str


class Config(Answer, frozen=True):
    toml: str
    source: str


class ConfigApplied(Answer, frozen=True):
    """`needs_restart`: keys whose new value takes effect at the next wake."""

    changed: list[str]
    needs_restart: list[str]


class MindState(Answer, frozen=True):
    """What the mind does now, with a short detail. `is_well`: nothing is degraded."""

    state: str
    detail: str
    is_well: bool


class Status(Answer, frozen=True):
    """R-18, R-49, R-146. `health` is "ok" only while everything that was acknowledged is being stored (H3)."""

    reveries: str
    pid: int
    home: str
    awake_since: float
    health: str
    problems: list[str]
    state: str
    state_detail: str
    conversation_turns: int
    attached_clients: int
    thinking_enabled: bool
    last_thought_at: float
    last_consolidation: str
    memory: MemoryStats
    models: list[ModelUse]
    usage: list[UsageToday]
    dollars_month: float
    tripwire: dict[str, int]
    notices: list[str]
    sqlite_version: str
    loop_lag_p99_ms: float
    loop_lag_max_ms: float
    embedding_model: str = ""
    """The embedder of the settings."""
    embedding_serving: str = ""
    """The embedder whose vectors recall uses: the previous one until re-embedding is complete."""
    embedding_done: int = 0
    """How many of the `embedding_total` texts have a vector of `embedding_model`."""
    embedding_total: int = 0
    embedding_waits: str = ""
    """Why re-embedding is waiting; empty if it is not."""
    limits: list[UsageLimit] = msgspec.field(default_factory=list)
    """The limits on today's use: of all roles together (`role` empty), and of each role."""
    open_questions: int = 0
    """Questions of projects that wait for the owner."""


class Trouble(Answer, frozen=True):
    """request_id 0: what does not work now, as in `Status.problems`; empty when it works again. Sent to all attached
    clients when the disk becomes full, or has space again."""

    problems: list[str]


@request(answer=Backups, before=(Progress,), safe=True)
class MakeBackup(Request, frozen=True):
    """Make a verified backup of the memory now. Answered by `Progress`, then by `Backups` with that backup only."""


@request(answer=Ok)
class Cancel(Request, frozen=True):
    """Stop the request `target_id`: a reply, an observation, a consolidation. Answered by `Ok`."""

    target_id: RequestId


@request(answer=MindState, safe=True)
class AskState(Request, frozen=True):
    """What the mind does now, for a shell prompt or a status bar; does not read the database. Answered by
    `MindState`."""


@request(answer=Status, safe=True)
class AskStatus(Request, frozen=True):
    """Answered by `Status`."""


@request(answer=Config, safe=True)
class AskConfig(Request, frozen=True):
    """The settings in effect, with secrets masked. Answered by `Config`."""


@request(answer=ConfigApplied)
class ApplyConfig(Request, frozen=True):
    """Reload config.toml and apply the settings that can change while awake. Answered by `ConfigApplied`."""


@request(answer=Ok, before=(Progress,), safe=True)
class Sleep(Request, frozen=True):
    """Stop thinking, consolidate (60 s at most), shut down. Answered by `Progress` and, before the shutdown, `Ok`."""


class Excerpt(msgspec.Struct, frozen=True):
    """One occurrence: the sentence, and how its thought ended."""

    happened_at: float
    text: str
    thought_ended: str


class Indicator(msgspec.Struct, frozen=True):
    """The counts of one indicator. `weeks` are the last eight, oldest first.

    `per_100_thoughts` is the rate over all thoughts, `per_100_thoughts_lately` over those of the last four weeks.
    """

    kind: str
    what: str
    occurrences: int
    days: int
    first_at: float | None
    last_at: float | None
    weeks: list[int]
    per_100_thoughts: float
    per_100_thoughts_lately: float
    is_consistent: bool
    excerpts: list[Excerpt]


class TripTold(msgspec.Struct, frozen=True):
    """One event of the breaker. `snapshot` is the end of the text that tripped it."""

    happened_at: float
    source: str
    action: str
    reason: str
    severity: str
    explanation: str
    response_taken: str
    snapshot: str


class Wellbeing(Answer, frozen=True):
    """Counts, and no conclusion (R-145, R-146)."""

    now: float
    thoughts: int
    thoughts_by_week: list[int]
    indicators: list[Indicator]
    trips: list[TripTold]
    trips_by_reason: dict[str, int]


@request(answer=Wellbeing, safe=True)
class AskWellbeing(Request, frozen=True):
    """Answered by `Wellbeing`, with up to `excerpts` excerpts of each kind, newest first."""

    excerpts: int = 3
