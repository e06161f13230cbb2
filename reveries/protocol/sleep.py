"""What a client asks of sleep: a pass, a preview, the log, undoing, contradictions."""

from typing import Annotated, Literal

import msgspec

from reveries.protocol.message import Answer, Request, RunId
from reveries.protocol.registry import request


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


class SleepLog(Answer, frozen=True):
    """Passes, newest first."""

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


class SleepRunDetail(Answer, frozen=True):
    """A pass with everything it did, in order; `left_off` counts changes for which a frame has no room."""

    run: SleepRun
    changes: list[SleepChange]
    left_off: int


class SleepPreview(Answer, frozen=True):
    """What a pass would do now. Nothing was changed; calls, tokens and dollars are what asking has cost. `left_off`
    counts changes for which a frame has no room."""

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


class SleepUndone(Answer, frozen=True):
    """The passes that were taken back, in the order in which it was done."""

    undone: list[UndoneRun]


class SleepAnswered(Answer, frozen=True):
    """What came of the owner's answer to a pass that had asked."""

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


class Contradictions(Answer, frozen=True):
    """Those found last first."""

    contradictions: list[Contradiction]


class Consolidated(Answer, frozen=True):
    """What a pass did. `log` has one line for each experience; `question` is what it asks before it does more."""

    run_id: str
    processed: int
    created: int
    merged: int
    fallbacks: int
    left: int
    seconds: float
    was_interrupted: bool
    log: list[str]
    question: str = ""


@request(answer=Consolidated)
class Consolidate(Request, frozen=True):
    """Deep sleep on the most salient unprocessed experiences. `Progress`, then `Consolidated`."""

    limit: Annotated[int, msgspec.Meta(ge=1)] | None = None


@request(answer=SleepPreview)
class PreviewSleep(Request, frozen=True):
    """Ask the model as `Consolidate` would, and change nothing. `Progress`, then `SleepPreview`."""

    limit: Annotated[int, msgspec.Meta(ge=1)] | None = None


@request(answer=SleepLog, safe=True, large=True)
class AskSleepLog(Request, frozen=True):
    """Answered by `SleepLog`."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 20


@request(answer=SleepRunDetail, safe=True, large=True)
class InspectSleep(Request, frozen=True):
    """Answered by `SleepRunDetail`. `run_id` may be the beginning of one."""

    run_id: RunId


@request(answer=SleepUndone)
class UndoSleep(Request, frozen=True):
    """Take a pass back; with `through`, before it those that built upon it. Answered by `SleepUndone`."""

    run_id: RunId
    through: bool = False


@request(answer=SleepAnswered)
class AnswerSleep(Request, frozen=True):
    """The owner's word on what a pass asks: do it, or drop it. Answered by `SleepAnswered`."""

    run_id: RunId
    do_it: bool


@request(answer=Contradictions, safe=True, large=True)
class AskContradictions(Request, frozen=True):
    """Claims that cannot both hold; with `with_settled` also what was settled, and updates that took effect. Answered
    by `Contradictions`."""

    with_settled: bool = False


@request(answer=Contradictions)
class SettleContradiction(Request, frozen=True):
    """The owner's word: the earlier, the later, or both hold. Answered by `Contradictions`, with that one alone."""

    conflict_id: RunId
    keep: Literal["earlier", "later", "both"]
