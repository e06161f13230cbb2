"""Chooses the recalled memories for the prompt of a capable model, and puts them into words. Pure.

It reads every word, so nothing is told twice: no turn, and no episode beside its own turns or beside another episode
that says the same. It is told what was said as a whole, or the piece that the words ask for, and whose words they are.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from reveries.daemon.talk.prompt_memories import (
    PromptMemory,
    describe_day,
    describe_replacements,
    describe_speaker,
    is_about_memory,
    rank_turns_to_show,
    without_other_times,
)
from reveries.daemon.talk.repeated_text import PromptText
from reveries.llm.base import ChatMessage
from reveries.memory.model import Origin, RankedTurn, Recall, RecalledEpisode, Turn
from reveries.memory.text.quoting import quote_around, whole_sentences

QUOTE_CHARS: Final = 1200
PARTNER_CHARS: Final = 600
"""Length limit for the other half of a recalled exchange."""

EpisodeOf = Callable[[str], str | None]
"""Returns the episode of a turn; None if it has none yet."""


@dataclass(slots=True)
class StandingText:
    """What stands in a prompt: before the memories are chosen, and while they are."""

    text: PromptText
    turn_ids: set[str]
    episode_ids: set[str] = field(default_factory=set)
    """The episodes that were told, or whose turns stand there."""

    @classmethod
    def of(
        cls, texts: Sequence[str], turn_ids: Collection[str], told_ids: Collection[str], episode_of: EpisodeOf
    ) -> "StandingText":
        """Return what stands in a prompt of these `texts` with these turns; `told_ids` were told as notes."""
        episode_ids = {name for turn_id in turn_ids if (name := episode_of(turn_id)) is not None}
        return cls(PromptText(texts), set(turn_ids), episode_ids | set(told_ids))


def choose_untold(recall: Recall, standing: StandingText, now: float) -> list[PromptMemory]:
    """Choose the memories for the prompt, best first: turns that answer the cue, then episodes of which no turn is
    told. `standing` then has them, too."""
    if not is_about_memory(recall):
        return []
    recall = without_other_times(recall)
    chosen: list[PromptMemory] = []
    best = [
        recalled.turns[0]
        for recalled in recall.episodes
        if recalled.turns and recalled.episode.id not in standing.episode_ids
    ]
    for ranked in (*rank_turns_to_show(recall, frozenset(standing.turn_ids)), *best):
        halves = [turn for turn in (ranked.turn, ranked.partner) if turn is not None]
        if ranked.turn.id in standing.turn_ids or all(standing.text.has_whole(turn.text) for turn in halves):
            continue
        item = _turn_memory(ranked, recall.cue, now)
        chosen.append(item)
        standing.turn_ids.update(item.turn_ids)
        standing.episode_ids.add(ranked.episode_id)
        standing.text.add(item.line)
    for episode_match in recall.episodes:
        summary = episode_match.episode.summary
        if episode_match.episode.id in standing.episode_ids or episode_match.turns or standing.text.mostly_has(summary):
            continue
        chosen.append(
            PromptMemory(
                episode_match.episode.id, None, _episode_line(episode_match, now), (), episode_match.episode.created_at
            )
        )
        standing.episode_ids.add(episode_match.episode.id)
        standing.text.add(summary)
    return chosen


def drop_told(notes: Sequence[PromptMemory], standing: StandingText) -> list[PromptMemory]:
    """Return the notes on a project of which not every word stands in the prompt, and the places in documents, which
    are offered to be cited each time. `standing` then has them, too."""
    untold = [note for note in notes if note.place is not None or not standing.text.has_whole(note.line)]
    for note in untold:
        standing.text.add(note.line)
    return untold


def _turn_memory(ranked: RankedTurn, cue: str, now: float) -> PromptMemory:
    """Build the memory of a turn with the other half of its exchange: as messages, or as a note if it is no exchange
    with the owner, or others had a hand in it (F1)."""
    halves = sorted(filter(None, (ranked.turn, ranked.partner)), key=lambda turn: turn.position)
    texts = {
        turn.id: quote_around(turn.text, cue, QUOTE_CHARS) + describe_replacements(ranked)
        if turn is ranked.turn
        else whole_sentences(turn.text, PARTNER_CHARS)
        for turn in halves
    }
    day, ids = describe_day(ranked.turn.said_at, now), tuple(texts)
    quotes = "; ".join(f'{_describe_speaker(turn)}: "{texts[turn.id]}"' for turn in halves)
    line = f"- on {day}, {quotes}"
    is_note = any(
        turn.tainted or turn.origin not in (Origin.OWNER, Origin.SELF) or _is_own_note(turn) for turn in halves
    )
    if is_note:
        return PromptMemory(ranked.episode_id, ranked.turn.id, line, (), ranked.turn.said_at, ids)
    by_origin = {turn.origin: texts[turn.id] for turn in halves}
    messages = (
        ChatMessage("user", f"[{day}] {by_origin.get(Origin.OWNER, '…')}"),
        ChatMessage("assistant", by_origin.get(Origin.SELF, "…")),
    )
    return PromptMemory(ranked.episode_id, ranked.turn.id, line, messages, ranked.turn.said_at, ids)


def _is_own_note(turn: Turn) -> bool:
    """Whether it is a thought or the outcome of own work: a passage of no conversation, by the mind."""
    return turn.origin is Origin.SELF and turn.conversation_id == turn.experience_id


def _describe_speaker(turn: Turn) -> str:
    if not _is_own_note(turn):
        return describe_speaker(turn)
    return "you noted, after reading what others wrote" if turn.tainted else "you noted"


def _episode_line(recalled: RecalledEpisode, now: float) -> str:
    """Put an episode into words, of which no turn can be quoted."""
    episode = recalled.episode
    whose = "you noted" if episode.origin is Origin.SELF else "as you keep it"
    others = ", after reading what others wrote" if episode.tainted else ""
    summary = quote_around(episode.summary, "", QUOTE_CHARS)
    return f"- on {describe_day(episode.created_at, now)}, {whose}{others}: {summary}"
