"""What the daemon tells of its state."""

import msgspec

from reveries.protocol.memory_frames import MemoryStats
from reveries.protocol.message import Message
from reveries.protocol.model_frames import ModelUse, UsageLimit, UsageToday


class Status(Message, frozen=True):
    """R-18, R-49, R-146. `health` is "ok" only while everything that was acknowledged is being stored (H3)."""

    request_id: int
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


class Trouble(Message, frozen=True):
    """request_id 0: what does not work now, as in `Status.problems`; empty when it works again. Sent to all who are
    attached when the disk has no room any more, or has some again."""

    request_id: int
    problems: list[str]
