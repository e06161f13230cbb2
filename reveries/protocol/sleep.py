"""Messages about sleep: running a pass, preview, log, undo, contradictions."""

from typing import Annotated, Literal

import msgspec

from reveries.protocol.message import Answer, Progress, Request, RunId
from reveries.protocol.registry import request


class SleepRun(msgspec.Struct, frozen=True):
    """One pass, with its counts. `depth` is "light" or "deep"; `outcome` says how it ended."""

    run_id: str
    depth: str
    trigger: str
    """Why it began: "arrival", "time", "volume", "owner", "sleep", "undo", "correction" …"""
    began_at: float
    ended_at: float | None
    processed: int
    created: int
    merged: int
    fallbacks: int
    outcome: str
    undone_by: str
    """The undo that reverted it."""
    undoes: str
    """The pass that it reverted, if it is an undo."""
    question: str
    """What it asks the owner before it continues."""


class SleepLog(Answer, frozen=True):
    """Passes, newest first."""

    runs: list[SleepRun]


class ChangedEpisode(msgspec.Struct, frozen=True):
    """An episode before and after a pass. `what` is "new", "changed", "merged away", "taken away" or "dormant"."""

    episode_id: str
    what: str
    old_summary: str
    new_summary: str
    merged_into: str = ""
    added_quotes: list[str] = []
    old_salience: float | None = None
    new_salience: float | None = None


class NewLink(msgspec.Struct, frozen=True):
    source_id: str
    target_id: str
    type: str
    strength: float


class SleepChange(msgspec.Struct, frozen=True):
    """The changes from one experience, or one batch of them. `superseded`: which claim ranks below which from now on,
    and why. Lines of `self_model` begin with "+ " or "- "."""

    experience_id: str
    line: str
    episodes: list[ChangedEpisode] = []
    new_links: list[NewLink] = []
    stronger_links: int = 0
    superseded: list[str] = []
    self_model: list[str] = []


class SleepRunDetail(Answer, frozen=True):
    """A pass with all its changes, in order; `left_off` counts changes that did not fit into the frame."""

    run: SleepRun
    changes: list[SleepChange]
    left_off: int


class SleepPreview(Answer, frozen=True):
    """What a pass would do now. Nothing was changed; calls, tokens and dollars are what the preview cost. `left_off`
    counts changes that did not fit into the frame."""

    changes: list[SleepChange]
    fallbacks: int
    """Experiences with an unusable answer."""
    left: int
    """Experiences that were not processed."""
    would_ask: bool
    """It would merge away more than it may without asking the owner."""
    was_interrupted: bool
    seconds: float
    calls: int = 0
    tokens: int = 0
    dollars: float = 0.0
    left_off: int = 0


class UndoneRun(msgspec.Struct, frozen=True):
    run_id: str
    undo_id: str
    line: str


class SleepUndone(Answer, frozen=True):
    """The undone passes, in the order in which they were undone."""

    undone: list[UndoneRun]


class SleepAnswered(Answer, frozen=True):
    """The result of the owner's answer to a question of a pass."""

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
    """Newest first."""

    contradictions: list[Contradiction]


class Consolidated(Answer, frozen=True):
    """The result of a pass. `created`: episodes that became deep ones; `left`: experiences that are still unprocessed;
    `log` has one line for each experience; `question` is what it asks before it continues."""

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


@request(answer=Consolidated, before=(Progress,))
class Consolidate(Request, frozen=True):
    """Run deep sleep on the most salient unprocessed experiences. Answered by `Progress`, then `Consolidated`."""

    limit: Annotated[int, msgspec.Meta(ge=1)] | None = None


@request(answer=SleepPreview, before=(Progress,))
class PreviewSleep(Request, frozen=True):
    """Ask the model as `Consolidate` would, but change nothing. Answered by `Progress`, then `SleepPreview`."""

    limit: Annotated[int, msgspec.Meta(ge=1)] | None = None


@request(answer=SleepLog, safe=True, large=True)
class AskSleepLog(Request, frozen=True):
    """Answered by `SleepLog`."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 20


@request(answer=SleepRunDetail, safe=True, large=True)
class InspectSleep(Request, frozen=True):
    """Answered by `SleepRunDetail`. `run_id` may be a unique prefix."""

    run_id: RunId


@request(answer=SleepUndone)
class UndoSleep(Request, frozen=True):
    """Undo a pass; with `through`, first the passes that built on it. Answered by `SleepUndone`."""

    run_id: RunId
    through: bool = False


@request(answer=SleepAnswered)
class AnswerSleep(Request, frozen=True):
    """The owner's answer to a question of a pass: do it, or drop it. Answered by `SleepAnswered`."""

    run_id: RunId
    do_it: bool


@request(answer=Contradictions, safe=True, large=True)
class AskContradictions(Request, frozen=True):
    """Claims that cannot both hold; with `with_settled` also settled ones and applied updates. Answered by
    `Contradictions`."""

    with_settled: bool = False


@request(answer=Contradictions)
class SettleContradiction(Request, frozen=True):
    """The owner's decision: the earlier, the later, or both hold. Answered by `Contradictions` with that one only."""

    conflict_id: RunId
    keep: Literal["earlier", "later", "both"]
