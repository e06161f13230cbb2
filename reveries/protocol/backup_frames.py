"""Copies of the memory: asking for one, and what is said of them."""

import msgspec

from reveries.protocol.message import Message, RequestId


class MakeBackup(Message, frozen=True):
    """A verified copy of the memory, now. Answered by `Progress`, then by `Backups` with that one alone."""

    request_id: RequestId


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


class Backups(Message, frozen=True):
    """Copies, the newest first."""

    request_id: int
    folder: str
    backups: list[BackupEntry]


class MindMoved(Message, frozen=True):
    """A whole mind was written into a file, or read from one. `check` is of the whole file: two files with the same
    are the same."""

    request_id: int
    file: str
    rows: int
    bytes: int
    with_vectors: bool
    check: str


class BackupRestored(Message, frozen=True):
    """A copy took the memory's place. What happened between the two times is not in it. `kept` is where the replaced
    file is now."""

    request_id: int
    backup: str
    missing_from: float
    missing_until: float
    kept: str
