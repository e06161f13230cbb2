"""Parts of frames that several requests share. Pure; every text that a person may see is made plain here."""

from collections.abc import Sequence

import msgspec

from reveries import protocol
from reveries.daemon.chat_context import PromptMemory
from reveries.memory.model import Recall, RecalledEpisode, Turn
from reveries.memory.views.episodes import said_turn
from reveries.safe_text import one_line, plain

ROOM_CHARS = 700_000
"""A character has at most 4 bytes in UTF-8: with what stands around them they fit into a message of 4 MiB."""


def said_turns(turns: Sequence[Turn]) -> list[protocol.SaidTurn]:
    """Stored turns for one message to a client: texts too long for it are cut, and say so."""
    return cut_turns([said_turn(turn) for turn in turns])


def cut_turns(turns: Sequence[protocol.SaidTurn]) -> list[protocol.SaidTurn]:
    """`turns` for one message to a client: texts too long for it are cut, and say so."""
    texts = cut_to_share([turn.text for turn in turns])
    return [msgspec.structs.replace(turn, text=text) for turn, text in zip(turns, texts, strict=True)]


def recalled_frame(request_id: int, recall: Recall, told: Sequence[PromptMemory]) -> protocol.Recalled:
    """What surfaced for a turn, marked with what the model was told of it."""
    told_episodes = {item.episode_id for item in told}
    items = [_project_item(item) for item in told if item.project]
    for found in recall.episodes:
        quote, speaker = best_quote(found)
        items.append(
            protocol.RecalledItem(
                episode_id=found.episode.id,
                summary=plain(found.episode.summary),
                energy=found.energy,
                happened_at=found.episode.created_at,
                quote=quote,
                quote_speaker=speaker,
                was_told=found.episode.id in told_episodes,
            )
        )
    return protocol.Recalled(request_id, items)


def _project_item(item: PromptMemory) -> protocol.RecalledItem:
    return protocol.RecalledItem(
        episode_id=item.episode_id,
        summary=one_line(item.line.removeprefix("- "), 1000),
        energy=1.0,
        happened_at=item.said_at,
        quote="",
        quote_speaker="",
        was_told=True,
        project=one_line(item.project),
    )


def best_quote(found: RecalledEpisode) -> tuple[str, str]:
    """The words that answer the cue best, and who said them; an exemplar when no turn was ranked."""
    if found.turns:
        turn = found.turns[0].turn
        return plain(turn.text), one_line(turn.speaker, 80)
    if found.episode.exemplars:
        return plain(found.episode.exemplars[0].quote), ""
    return "", ""


def cut_to_share(texts: Sequence[str], room_chars: int = ROOM_CHARS) -> list[str]:
    """`texts` in their order, together about `room_chars` characters at most. The short ones stay whole; the long ones
    are cut at one length, and tell how much more there was."""
    most = _longest_allowed(sorted(map(len, texts)), room_chars)
    return [
        text if len(text) <= most else f"{text[:most]}\u2026 ({len(text) - most:,} more characters)" for text in texts
    ]


def _longest_allowed(lengths: Sequence[int], room_chars: int) -> int:
    """The length at which all of `lengths` (ascending) have to be cut to fit."""
    left = room_chars
    for place, length in enumerate(lengths):
        share = left // (len(lengths) - place)
        if length > share:
            return share
        left -= length
    return lengths[-1] if lengths else 0
