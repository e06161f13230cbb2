"""Named steps at which the state of the disk matters, and places where a part of the daemon may hang.

Production sets no failpoint: a step costs one read of a global. Tests set one that ends or halts their process there
(tests/fakes/failpoints.py); tests/durability reaches every `Step`, tests/daemon/test_hangs.py every `HangPlace`.
"""

from enum import StrEnum
from typing import Protocol


class Step(StrEnum):
    """Steps at which it matters what is on the disk and who was told."""

    TRANSACTION_BEGUN = "transaction-begun"
    BEFORE_COMMIT = "before-commit"
    AFTER_COMMIT = "after-commit"
    PAGES_NOTED = "pages-noted"
    """The checksums of the pages in the log are on the disk; the log is not checkpointed."""
    LOG_FOLDED = "log-folded"
    WORDS_STORED = "words-stored"
    """Committed, not acknowledged."""
    WORDS_TOLD = "words-told"
    REPLY_SAID = "reply-said"
    """The model has finished; nothing is stored."""
    EXCHANGE_STORED = "exchange-stored"
    EXCHANGE_TOLD = "exchange-told"
    CALL_RESERVED = "call-reserved"
    """Budget is reserved; no call has been made."""
    LIGHT_SLEEP_BEGUN = "light-sleep-begun"
    LIGHT_SLEEP_FORMED = "light-sleep-formed"
    DEEP_SLEEP_UNDERSTOOD = "deep-sleep-understood"
    """The model has answered; nothing is stored."""
    DEEP_SLEEP_STORED = "deep-sleep-stored"
    SNAPSHOT_MARKED = "snapshot-marked"
    SNAPSHOT_WRITTEN = "snapshot-written"
    SNAPSHOT_NAMED = "snapshot-named"
    BACKUP_COPIED = "backup-copied"
    BACKUP_VERIFIED = "backup-verified"
    BACKUP_NAMED = "backup-named"
    MIGRATION_BACKED_UP = "migration-backed-up"
    MIGRATION_STEP = "migration-step"
    """One of several migration steps is committed."""
    RESTORE_NOTED = "restore-noted"
    """What is restored, and why, is on the disk; nothing else is done."""
    RESTORE_SET_ASIDE = "restore-set-aside"
    """The damaged memory is renamed; the copy has not taken its place."""
    RESTORE_PLACED = "restore-placed"
    """The copy has taken its place; nothing was reported."""
    ERASING_MARKED = "erasing-marked"
    """The pending erasure is recorded; nothing is erased."""
    ERASED = "erased"
    """Committed; traces are still in the file."""
    SCRUB_COPIED = "scrub-copied"
    """The memory is rewritten without them under another name."""
    SCRUB_PLACED = "scrub-placed"
    WOKEN = "woken"
    """Memory is loaded; no client can connect."""
    CLOSING = "closing"


class HangPlace(StrEnum):
    """Places where a part of the daemon may hang: one or more for each part that lifecycle/watchdog.py watches."""

    THOUGHT = "hang-in-a-thought"
    REPLY = "hang-in-a-reply"
    BETWEEN_TURNS = "hang-between-turns"
    """Another conversation begins; the next message waits for that."""
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
    """Set the failpoint of this process."""
    global _failpoint
    _failpoint = failpoint


async def may_hang(place: HangPlace) -> None:
    """Report that `place` is reached."""
    if _failpoint is not None:
        await _failpoint.halt(place)


def reach_step(step: Step) -> None:
    """Report that `step` is reached."""
    if _failpoint is not None:
        _failpoint.reach(step)
