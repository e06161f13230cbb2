"""What the daemon tells of passes of sleep: their log, what one did, what it would do, what it asks."""

import msgspec

from reveries.protocol.message import Message


class SleepRun(msgspec.Struct, frozen=True):
    """One pass. `depth` is "light" or "deep"; `trigger` says why it began, `outcome` how it ended."""

    run_id: str
    depth: str
    trigger: str
    began_at: float
    ended_at: float | None
    processed: int
    created: int
    merged: int
    fallbacks: int
    outcome: str
    undone_by: str
    undoes: str
    question: str


class SleepLog(Message, frozen=True):
    """Passes, newest first."""

    request_id: int
    runs: list[SleepRun]


class ChangedEpisode(msgspec.Struct, frozen=True):
    """An episode before and after. `what` is "new", "changed", "merged away", "taken away" or "dormant"."""

    episode_id: str
    what: str
    old_summary: str
    new_summary: str
    merged_into: str
    added_quotes: list[str]
    old_salience: float | None
    new_salience: float | None


class NewLink(msgspec.Struct, frozen=True):
    source_id: str
    target_id: str
    type: str
    strength: float


class SleepChange(msgspec.Struct, frozen=True):
    """What was done about one experience, or one batch of them. Lines of `self_model` begin with "+ " or "- "."""

    experience_id: str
    line: str
    episodes: list[ChangedEpisode]
    new_links: list[NewLink]
    stronger_links: int
    superseded: list[str]
    self_model: list[str]


class SleepRunDetail(Message, frozen=True):
    """A pass with everything it did, in order; `left_off` counts changes for which a frame has no room."""

    request_id: int
    run: SleepRun
    changes: list[SleepChange]
    left_off: int


class SleepPreview(Message, frozen=True):
    """What a pass would do now. Nothing was changed; calls, tokens and dollars are what asking has cost. `left_off`
    counts changes for which a frame has no room."""

    request_id: int
    changes: list[SleepChange]
    fallbacks: int
    left: int
    would_ask: bool
    was_interrupted: bool
    seconds: float
    calls: int
    tokens: int
    dollars: float
    left_off: int = 0


class UndoneRun(msgspec.Struct, frozen=True):
    run_id: str
    undo_id: str
    line: str


class SleepUndone(Message, frozen=True):
    """The passes that were taken back, in the order in which it was done."""

    request_id: int
    undone: list[UndoneRun]


class SleepAnswered(Message, frozen=True):
    """What came of the owner's answer to a pass that had asked."""

    request_id: int
    run_id: str
    line: str


class ClaimSaid(msgspec.Struct, frozen=True):
    """One side of a contradiction, with the sentence that states it."""

    quote: str
    speaker: str
    said_at: float
    origin: str
    turn_id: str


class Contradiction(msgspec.Struct, frozen=True):
    """Two claims that cannot both hold. `kind` is "contradiction" or "update"; `settled` is "earlier", "later", "both"
    or empty."""

    conflict_id: str
    kind: str
    reason: str
    earlier: ClaimSaid
    later: ClaimSaid
    settled: str


class Contradictions(Message, frozen=True):
    """Those found last first."""

    request_id: int
    contradictions: list[Contradiction]
