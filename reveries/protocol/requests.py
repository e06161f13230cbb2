"""What a client may ask."""

from typing import Annotated, Literal

import msgspec

from reveries.protocol.backup_frames import MakeBackup
from reveries.protocol.forget_frames import Forget
from reveries.protocol.hand_frames import CorrectEpisode, PinEpisode, WeighEpisode
from reveries.protocol.looking_requests import (
    AskContext,
    AskNeighbourhood,
    AskSelf,
    AskSelfHistory,
    AskTimeline,
    AskWhy,
    EditSelf,
    RevertSelf,
    When,
)
from reveries.protocol.message import Message, RequestId, Text
from reveries.protocol.safety_frames import AskWellbeing
from reveries.protocol.talk_frames import (
    AskConversations,
    AskPastWords,
    AskTurns,
    NewConversation,
    ResumeConversation,
    TakeBack,
)

RunId = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


class Hello(Message, frozen=True):
    """The first frame of a connection."""

    version: int
    client: Annotated[str, msgspec.Meta(max_length=100)]


class Attach(Message, frozen=True):
    """Join the conversation: answered by `Attached`, then told (request_id 0) whatever happens in it."""

    request_id: RequestId


class Detach(Message, frozen=True):
    """Leave the conversation but keep the connection. Answered by `Ok`."""

    request_id: RequestId


class Say(Message, frozen=True):
    """One turn of the owner. Answered by `Recalled`, `Token`s, `Stored`, and `Replied` as the last."""

    request_id: RequestId
    text: Text
    # Left out where not given: the bytes of a turn on the record stay what they were.
    off_record: bool | msgspec.UnsetType = msgspec.UNSET
    """Sent as true: neither these words nor the reply are stored, recalled, thought of or logged. No `Stored` comes."""


class Cancel(Message, frozen=True):
    """Stop the request `target_id`: a reply, an observation, a consolidation. Answered by `Ok`."""

    request_id: RequestId
    target_id: RequestId


class AskStatus(Message, frozen=True):
    """Answered by `Status`."""

    request_id: RequestId


class Observe(Message, frozen=True):
    """Watch the monologue: `ThoughtBegan`, `ThoughtToken`, `ThoughtEnded` until cancelled. Begins with the running
    thought so far, if there is one."""

    request_id: RequestId


class AskThoughts(Message, frozen=True):
    """The log of the monologue since a time (unix seconds). Answered by `Thoughts`."""

    request_id: RequestId
    since: float
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 50


class ControlThinking(Message, frozen=True):
    """Hold thinking back until it is let go again, over restarts too; or one thought now. Answered by
    `ThinkingControlled`."""

    request_id: RequestId
    do: Literal["pause", "resume", "step"]


class ReleaseThinking(Message, frozen=True):
    """Let it think again though it rests after a trip of the breaker. Answered by `ThinkingReleased`."""

    request_id: RequestId


class NudgeThinking(Message, frozen=True):
    """Think about this next. Answered by `ThinkingControlled`."""

    request_id: RequestId
    about: Annotated[str, msgspec.Meta(min_length=1, max_length=500)]


class MarkThought(Message, frozen=True):
    """Let memory hold on to a thought, or make nothing of it. `thought_id` may be the beginning of one. Answered by
    `ThoughtMarked`."""

    request_id: RequestId
    thought_id: RunId
    mark: Literal["pin", "drop"]


class AskNotes(Message, frozen=True):
    """The latest notes of the mind. Answered by `Notes`."""

    request_id: RequestId
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 20


class DismissNote(Message, frozen=True):
    """This note was not wanted. Answered by `Notes`, with that one alone."""

    request_id: RequestId
    note_id: RunId


class Consolidate(Message, frozen=True):
    """Deep sleep on the most salient unprocessed experiences. `Progress`, then `Consolidated`."""

    request_id: RequestId
    limit: Annotated[int, msgspec.Meta(ge=1)] | None = None


class PreviewSleep(Message, frozen=True):
    """Ask the model as `Consolidate` would, and change nothing. `Progress`, then `SleepPreview`."""

    request_id: RequestId
    limit: Annotated[int, msgspec.Meta(ge=1)] | None = None


class AskSleepLog(Message, frozen=True):
    """Answered by `SleepLog`."""

    request_id: RequestId
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 20


class InspectSleep(Message, frozen=True):
    """Answered by `SleepRunDetail`. `run_id` may be the beginning of one."""

    request_id: RequestId
    run_id: RunId


class UndoSleep(Message, frozen=True):
    """Take a pass back; with `through`, before it those that built upon it. Answered by `SleepUndone`."""

    request_id: RequestId
    run_id: RunId
    through: bool = False


class AnswerSleep(Message, frozen=True):
    """The owner's word on what a pass asks: do it, or drop it. Answered by `SleepAnswered`."""

    request_id: RequestId
    run_id: RunId
    do_it: bool


class AskContradictions(Message, frozen=True):
    """Claims that cannot both hold; with `with_settled` also what was settled, and updates that took effect. Answered
    by `Contradictions`."""

    request_id: RequestId
    with_settled: bool = False


class SettleContradiction(Message, frozen=True):
    """The owner's word: the earlier, the later, or both hold. Answered by `Contradictions`, with that one alone."""

    request_id: RequestId
    conflict_id: RunId
    keep: Literal["earlier", "later", "both"]


class AskMemory(Message, frozen=True):
    """Answered by `MemoryStats`."""

    request_id: RequestId


class Search(Message, frozen=True):
    """Recall without reinforcing (R-29). Answered by `Found`.

    `since` and `until`: dates as people write them. `explain`: with what speaks for each of what was found.
    """

    request_id: RequestId
    query: Text
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 10
    # Left out where not given: the bytes of a plain search stay what they were.
    since: When | msgspec.UnsetType = msgspec.UNSET
    until: When | msgspec.UnsetType = msgspec.UNSET
    explain: bool | msgspec.UnsetType = msgspec.UNSET
    deep: bool | msgspec.UnsetType = msgspec.UNSET
    """Sent as true: also what is only on disk: dormant episodes, and words that were put away. Wakes nothing."""


class Inspect(Message, frozen=True):
    """Answered by `EpisodeDetail`. `episode_id` may be the beginning of one."""

    request_id: RequestId
    episode_id: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


class AskConfig(Message, frozen=True):
    """The settings in force, secrets masked. Answered by `Config`."""

    request_id: RequestId


class ApplyConfig(Message, frozen=True):
    """Read config.toml again and take over what can change while awake. Answered by `ConfigApplied`."""

    request_id: RequestId


class ImportedTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of a past conversation. `said_at` in unix seconds."""

    said_at: float
    speaker: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    text: Text
    is_owner: bool | msgspec.UnsetType = msgspec.UNSET
    """Sent as true: the file tells that its account's holder wrote this, whatever they are called."""


class Import(Message, frozen=True):
    """A part of a past conversation, in order. `Progress`, then `Imported`. With `is_last` it is slept on (light)."""

    request_id: RequestId
    source: Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
    turns: Annotated[list[ImportedTurn], msgspec.Meta(max_length=1000)]
    is_last: bool


class Sleep(Message, frozen=True):
    """Stop thinking, consolidate (60 s at most), close. Answered by `Progress` and, before the end, `Ok`."""

    request_id: RequestId


class AskModels(Message, frozen=True):
    """Which model each role uses and why, and what else there is. Answered by `ModelsOverview`."""

    request_id: RequestId


class ProbeModels(Message, frozen=True):
    """One question to the model of each role, or of `role` alone, as any call is made: reserved first, settled after.
    With `tiers` the small tasks too, by which a model's tier is found and kept. `Progress`, then `ModelsProbed`."""

    request_id: RequestId
    role: Annotated[str, msgspec.Meta(max_length=20)] = ""
    tiers: bool | msgspec.UnsetType = msgspec.UNSET


class AskUsage(Message, frozen=True):
    """Answered by `UsageReport`."""

    request_id: RequestId
    days: Annotated[int, msgspec.Meta(ge=1, le=366)] = 30


class Remember(Message, frozen=True):
    """Words of the owner to be remembered, without a reply; they can be recalled at once. Answered by `Remembered`."""

    request_id: RequestId
    text: Text


class AskCheckup(Message, frozen=True):
    """What of the memory, the models and the mind itself is not right. Answered by `Checkup`."""

    request_id: RequestId


Request = (
    Hello | Attach | Detach | Say | Cancel | AskStatus | Observe | AskThoughts | Consolidate | AskMemory | Search
    | Inspect | AskConfig | ApplyConfig | Import | Sleep | AskModels | ProbeModels
    | AskUsage | AskCheckup | Remember | PinEpisode | WeighEpisode | CorrectEpisode
    | ControlThinking | ReleaseThinking | NudgeThinking | MarkThought | AskNotes | DismissNote
    | PreviewSleep | AskSleepLog | InspectSleep | UndoSleep | AnswerSleep
    | AskContradictions | SettleContradiction | AskWellbeing | MakeBackup | Forget
    | AskConversations | AskTurns | AskPastWords | NewConversation | ResumeConversation | TakeBack
    | AskWhy | AskTimeline | AskNeighbourhood | AskContext | AskSelf | AskSelfHistory | EditSelf | RevertSelf
)  # fmt: skip
