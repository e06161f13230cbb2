"""The owner's hand on single episodes: pin, salience, correction."""

from typing import Annotated

import msgspec

from reveries.protocol.message import Message, RequestId, Text

EpisodeId = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


class PinEpisode(Message, frozen=True):
    """Let time leave an episode alone, or let it fade again. `episode_id` may be the beginning of one, and of one that
    is dormant: it is brought back. Answered by `EpisodeHeld`."""

    request_id: RequestId
    episode_id: EpisodeId
    is_pinned: bool


class WeighEpisode(Message, frozen=True):
    """Say how much an episode matters, until recall and time say otherwise. Answered by `EpisodeHeld`."""

    request_id: RequestId
    episode_id: EpisodeId
    salience: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]


class EpisodeHeld(Message, frozen=True):
    """How the episode stands now."""

    request_id: int
    episode_id: str
    summary: str
    salience: float
    accessibility: float
    is_pinned: bool


class CorrectEpisode(Message, frozen=True):
    """The owner's words in the place of what an episode says: both are kept, and these rank first. Answered by
    `EpisodeCorrected`."""

    request_id: RequestId
    episode_id: EpisodeId
    text: Text


class EpisodeCorrected(Message, frozen=True):
    """`run_id`: the pass that did it; taken back, it takes the correction with it. `replaced`: what ranks under the new
    words."""

    request_id: int
    run_id: str
    episode_id: str
    new_episode_id: str
    replaced: list[str]


HandRequest = PinEpisode | WeighEpisode | CorrectEpisode
