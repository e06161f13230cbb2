"""What a client may ask to see: why, when, what hangs together, what was told, what the mind takes itself to be.

None of these changes a memory, but for the owner's hand on the self-model.
"""

from typing import Annotated

import msgspec

from reveries.protocol.message import Message, RequestId

Prefix = Annotated[str, msgspec.Meta(max_length=100)]
When = Annotated[str, msgspec.Meta(max_length=100)]


class AskWhy(Message, frozen=True):
    """Why an episode surfaces for a cue, or does not. `cue` empty: that of the last turn. Answered by `Why`."""

    request_id: RequestId
    episode_id: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
    cue: Annotated[str, msgspec.Meta(max_length=10_000)] = ""


class AskTimeline(Message, frozen=True):
    """The last `limit` episodes of a period; dates as people write them, empty is open. Answered by `Timeline`."""

    request_id: RequestId
    since: When = ""
    until: When = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 40


class AskNeighbourhood(Message, frozen=True):
    """The graph around an episode, or around what `cue` brings up; both empty: around what matters most. Answered by
    `Neighbourhood`."""

    request_id: RequestId
    around: Prefix = ""
    cue: Annotated[str, msgspec.Meta(max_length=10_000)] = ""
    limit: Annotated[int, msgspec.Meta(ge=2, le=120)] = 24


class AskContext(Message, frozen=True):
    """What the model was told for the last turn of a conversation; empty: of the one that is held. Answered by
    `ToldContext`."""

    request_id: RequestId
    conversation_id: Prefix = ""


class AskSelf(Message, frozen=True):
    """Answered by `SelfModelShown`."""

    request_id: RequestId


class AskSelfHistory(Message, frozen=True):
    """The last changes of the self-model. Answered by `SelfHistory`."""

    request_id: RequestId
    limit: Annotated[int, msgspec.Meta(ge=1, le=200)] = 20


class EditSelf(Message, frozen=True):
    """The owner's own words in a field of the self-model, one statement a line. Answered by `SelfModelShown`."""

    request_id: RequestId
    field: Annotated[str, msgspec.Meta(min_length=1, max_length=50)]
    text: Annotated[str, msgspec.Meta(max_length=20_000)]


class RevertSelf(Message, frozen=True):
    """The self-model as it stood before change `number`. Answered by `SelfModelShown`."""

    request_id: RequestId
    number: Annotated[int, msgspec.Meta(ge=1)]


LookRequest = (
    AskWhy | AskTimeline | AskNeighbourhood | AskContext | AskSelf | AskSelfHistory | EditSelf | RevertSelf
)  # fmt: skip
