"""Named steps at which it matters what is on the disk, and places where a part of the daemon may stand still.

Production sets no failpoint: a step costs one look at a global. Tests set one that ends or halts their process there
(tests/fakes/failpoints.py); tests/durability reaches every `Step`, tests/daemon/test_hangs.py every `HangPlace`.
"""

from enum import StrEnum
from typing import Protocol


class Step(StrEnum):
    """Where it matters what is on the disk and who knows of it."""

    TRANSACTION_BEGUN = "transaction-begun"
    BEFORE_COMMIT = "before-commit"
    AFTER_COMMIT = "after-commit"
    PAGES_NOTED = "pages-noted"
    """What the pages in the log are is on the disk, and the log is not folded."""
    LOG_FOLDED = "log-folded"
    WORDS_STORED = "words-stored"
    """Committed, and nobody was told."""
    WORDS_TOLD = "words-told"
    REPLY_SAID = "reply-said"
    """The model is done, and nothing of it is stored."""
    EXCHANGE_STORED = "exchange-stored"
    EXCHANGE_TOLD = "exchange-told"
    CALL_RESERVED = "call-reserved"
    """Money is set aside, and nobody was called."""
    LIGHT_SLEEP_BEGUN = "light-sleep-begun"
    LIGHT_SLEEP_FORMED = "light-sleep-formed"
    DEEP_SLEEP_UNDERSTOOD = "deep-sleep-understood"
    """The model has answered, and nothing of it is stored."""
    DEEP_SLEEP_STORED = "deep-sleep-stored"
    SNAPSHOT_MARKED = "snapshot-marked"
    SNAPSHOT_WRITTEN = "snapshot-written"
    SNAPSHOT_NAMED = "snapshot-named"
    BACKUP_COPIED = "backup-copied"
    BACKUP_VERIFIED = "backup-verified"
    BACKUP_NAMED = "backup-named"
    MIGRATION_BACKED_UP = "migration-backed-up"
    MIGRATION_STEP = "migration-step"
    """One step of several is committed."""
    RESTORE_NOTED = "restore-noted"
    """What is put back, and why, is on the disk; nothing else was done."""
    RESTORE_SET_ASIDE = "restore-set-aside"
    """The damaged memory is renamed, and the copy has not taken its place."""
    RESTORE_PLACED = "restore-placed"
    """It has, and nobody was told."""
    ERASING_MARKED = "erasing-marked"
    """It is known that something is to be erased, and nothing was."""
    ERASED = "erased"
    """Committed, and its traces are still in the file."""
    SCRUB_COPIED = "scrub-copied"
    """The memory is written anew without them, under another name."""
    SCRUB_PLACED = "scrub-placed"
    WOKEN = "woken"
    """Memory is there, and nobody can reach it."""
    CLOSING = "closing"


class HangPlace(StrEnum):
    """Where a part of the daemon may hang: one at least for each that is watched (reveries/daemon/watchdog.py)."""

    THOUGHT = "hang-in-a-thought"
    REPLY = "hang-in-a-reply"
    BETWEEN_TURNS = "hang-between-turns"
    """Another conversation is begun: whoever says something waits for that."""
    REST = "hang-in-the-rest"
    JOB = "hang-in-a-job"
    SLEEP = "hang-in-sleep"
    LIGHT_SLEEP = "hang-in-light-sleep"
    COPY = "hang-in-a-copy"
    TRANSACTION = "hang-in-a-transaction"


class Failpoint(Protocol):
    """What happens at a step or a place."""

    def reach(self, step: Step) -> None: ...

    async def halt(self, place: HangPlace) -> None: ...


_failpoint: Failpoint | None = None


def set_failpoint(failpoint: Failpoint | None) -> None:
    """From now on, in this process."""
    global _failpoint
    _failpoint = failpoint


async def may_hang(place: HangPlace) -> None:
    """Say that `place` is reached."""
    if _failpoint is not None:
        await _failpoint.halt(place)


def reach_step(step: Step) -> None:
    """Say that `step` is reached."""
    if _failpoint is not None:
        _failpoint.reach(step)
