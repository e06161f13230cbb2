"""What a client asks of the daemon itself: state, settings, checkup, copies, its end."""

import msgspec

from reveries.faults import FAULTS
from reveries.protocol.memory import MemoryStats
from reveries.protocol.message import Answer, Ok, Progress, Request, RequestId
from reveries.protocol.models import ModelUse, UsageLimit, UsageToday
from reveries.protocol.registry import request
from reveries.safe_text import one_line

_LONGEST_CHARS = 1000


class BackupEntry(msgspec.Struct, frozen=True):
    """One copy. Times in unix seconds."""

    name: str
    made_at: float
    size_bytes: int
    is_before_migration: bool
    is_looked_at: bool = False
    """Whether the rest says anything."""
    problems: list[str] = []
    """Why it cannot take the memory's place; empty for a whole one."""
    rotten: list[str] = []
    """Texts that are not what was written."""
    turns: int = 0
    episodes: int = 0


class Backups(Answer, frozen=True):
    """Copies, the newest first."""

    folder: str
    backups: list[BackupEntry]


class MindMoved(Answer, frozen=True):
    """A whole mind was written into a file, or read from one. `check` is of the whole file: two files with the same
    are the same."""

    file: str
    rows: int
    bytes: int
    with_vectors: bool
    check: str


class BackupRestored(Answer, frozen=True):
    """A copy took the memory's place. What happened between the two times is not in it. `kept` is where the replaced
    file is now."""

    backup: str
    missing_from: float
    missing_until: float
    kept: str


class Finding(msgspec.Struct, frozen=True):
    """One fault (docs/reference/faults.md). `severity`: wrong, watch or note. `where`: the file, or the setting."""

    fault: str
    severity: str
    sentence: str
    advice: str
    where: str = ""
    is_mendable: bool = False


class Checkup(Answer, frozen=True):
    """`looked_at`: what was examined, in words; `not_looked_at`: what could not be, and why."""

    findings: list[Finding]
    looked_at: list[str]
    not_looked_at: list[str]


class StateChanged(Answer, frozen=True):
    """request_id 0: what the mind does now, e.g. "thinking", "settled", "talking", "consolidating", "asleep"."""

    state: str
    detail: str


class Config(Answer, frozen=True):
    toml: str
    source: str


class ConfigApplied(Answer, frozen=True):
    """`needs_restart`: keys whose new value counts from the next wake on."""

    changed: list[str]
    needs_restart: list[str]


class MindState(Answer, frozen=True):
    """What the mind does now, and a few words more. `is_well`: nothing is degraded."""

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
    """The one whose vectors recall compares: another until every text has a new one."""
    embedding_done: int = 0
    """Texts that have a vector of `embedding_model`, of `embedding_total`."""
    embedding_total: int = 0
    embedding_waits: str = ""
    """Why nothing happens now with those that have none."""
    limits: list[UsageLimit] = msgspec.field(default_factory=list)
    """What the day's use is held against: of all roles together (`role` empty), and of each."""
    open_questions: int = 0
    """What projects want to know of the owner."""


class Trouble(Answer, frozen=True):
    """request_id 0: what does not work now, as in `Status.problems`; empty when it works again. Sent to all who are
    attached when the disk has no room any more, or has some again."""

    problems: list[str]


@request(answer=Progress, safe=True)
class MakeBackup(Request, frozen=True):
    """A verified copy of the memory, now. Answered by `Progress`, then by `Backups` with that one alone."""


@request(answer=Ok)
class Cancel(Request, frozen=True):
    """Stop the request `target_id`: a reply, an observation, a consolidation. Answered by `Ok`."""

    target_id: RequestId


@request(answer=MindState, safe=True)
class AskState(Request, frozen=True):
    """What it does now, for a shell's prompt or a status bar: reads no database. Answered by `MindState`."""


@request(answer=Status, safe=True)
class AskStatus(Request, frozen=True):
    """Answered by `Status`."""


@request(answer=Config, safe=True)
class AskConfig(Request, frozen=True):
    """The settings in force, secrets masked. Answered by `Config`."""


@request(answer=ConfigApplied)
class ApplyConfig(Request, frozen=True):
    """Read config.toml again and take over what can change while awake. Answered by `ConfigApplied`."""


@request(answer=Ok, safe=True)
class Sleep(Request, frozen=True):
    """Stop thinking, consolidate (60 s at most), close. Answered by `Progress` and, before the end, `Ok`."""


@request(answer=Checkup, safe=True)
class AskCheckup(Request, frozen=True):
    """What of the memory, the models and the mind itself is not right. Answered by `Checkup`."""


def make_finding(fault: str, sentence: str = "", advice: str = "", where: str = "") -> Finding:
    """The finding of one of FAULTS; its own words where none are given."""
    known = FAULTS[fault]
    return Finding(
        fault,
        known.severity,
        one_line(sentence, _LONGEST_CHARS) or known.meaning,
        advice or known.next_step,
        where,
        known.is_mended,
    )
