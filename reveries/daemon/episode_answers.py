"""What the owner does with single episodes, and the answers as frames. Nothing is decided here."""

from typing import assert_never

from reveries import protocol
from reveries.memory.episode_hand import Held
from reveries.memory.memory import Memory
from reveries.plaintext import one_line, plain

_SUMMARY_CHARS = 700


async def answer_by_hand(memory: Memory, request: protocol.HandRequest) -> protocol.Frame:
    """The answer to one of these requests. Raises NotFoundError and UsageError."""
    number, hand = request.request_id, memory.episode_hand
    match request:
        case protocol.PinEpisode(episode_id=name, is_pinned=True):
            return _held(number, await hand.pin(name))
        case protocol.PinEpisode(episode_id=name):
            return _held(number, await hand.unpin(name))
        case protocol.WeighEpisode(episode_id=name, salience=salience):
            return _held(number, await hand.weigh(name, salience))
        case protocol.CorrectEpisode(episode_id=name, text=text):
            done = await memory.correct(name, text)
            quotes = [one_line(turn.text, _SUMMARY_CHARS) for turn in done.replaced]
            return protocol.EpisodeCorrected(number, done.run_id, done.episode_id, done.new_episode_id, quotes)
        case _:
            assert_never(request)


def _held(number: int, held: Held) -> protocol.EpisodeHeld:
    episode = held.episode
    summary = one_line(plain(episode.summary), _SUMMARY_CHARS)
    return protocol.EpisodeHeld(number, episode.id, summary, episode.salience, episode.accessibility, held.is_pinned)
