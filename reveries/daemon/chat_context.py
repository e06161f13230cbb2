"""What the mind is told for a turn, and how a long conversation is folded. Pure.

Stable first, what changes last, so that a model's prompt cache spares it the re-reading: rules, self-model and folded
summary in the system message; then the history exactly as it was sent; then the new words, led by what was recalled,
by the thought that was interrupted and by the time.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from reveries.daemon.manner import Manner, manner_for
from reveries.daemon.said_again import only_what_is_new
from reveries.gates import Gate, stands
from reveries.llm.base import Message
from reveries.memory.model import (
    Origin,
    RankedTurn,
    Recall,
    RecalledEpisode,
    Replacement,
    SelfModel,
    Turn,
)
from reveries.memory.recall.stemming import words_of
from reveries.memory.recall.words import cue_terms, terms_of
from reveries.memory.self_model import told_first
from reveries.memory.sleep.extracts import telling
from reveries.plaintext import one_line, record
from reveries.prompts import prompt

QUOTE_CHARS = 280
LATELY = 3
LATELY_CHARS = 200
_POINTING = re.compile(
    r"\b(?:he|she|it|they|him|her|hers|them|his|its|their|theirs|there|that|those|this|these|then|both|else|more)\b",
    re.IGNORECASE,
)
"""Words that point at what was said."""
THOUGHT_CHARS = 240
SILENCE_CHARS = 160
SUMMARY_LINE_CHARS = 160
SUMMARY_SHARE = 0.1
"""The folded summary may take this share of the model's context."""
MAX_OWNER_FACTS = 12
TURNS_FIRST = 4
"""So many of the best-ranked source turns come before those that are only nearest in meaning."""
NEAREST_FIRST = 4
"""So many of those that are nearest in meaning come next."""
TURNS_MOST = 12
"""So many source turns come before what else surfaced."""
ALIKE_SHARE = 0.5
"""Two turns that share so many of their words are nearly the same."""

_SAID_NOTE = "[What was said before:"
_THOUGHT_NOTE = "[You were just thinking:"
_SILENCE_NOTE = "[Before these words:"
_TIME_NOTE = "[It is "
_TAKEN = frozenset({"the person", "you", "user", "me", "i", "system", "assistant", "owner"})
"""Names that stand for the owner, the mind or the rules in a prompt: nobody else is called so there (F3)."""

FOLD_TO_SHARE = 0.5
"""After a fold the history takes this share of its budget, so that the next fold is far away."""


@dataclass(frozen=True, slots=True)
class SentExchange:
    """One turn of the owner with its reply, as the model saw them (`asked` with what was recalled for it)."""

    asked: str
    replied: str
    owner_words: str
    tokens: int
    turn_ids: tuple[str, ...]
    until_position: int = 0
    """The place in the conversation after its last turn."""
    is_tainted: bool = False
    """Others than the owner and the mind had a hand in what stands here: what is said after it inherits that."""


@dataclass(frozen=True, slots=True)
class Told:
    """A memory that was put before the model: the line it read, and the episode behind it."""

    episode_id: str
    turn_id: str | None
    line: str


@dataclass(frozen=True, slots=True)
class Folded:
    """A history that fits, with what was folded away into the summary."""

    summary: str
    exchanges: tuple[SentExchange, ...]
    folded: tuple[SentExchange, ...]


def system_text(mind_name: str, owner_name: str, self_model: SelfModel, folded_summary: str) -> str:
    """The stable part. Byte-equal as long as the self-model and the fold are."""
    text = prompt("conversation", mind=mind_name)
    if owner_name:
        text += f"\n\nThe person's name is {owner_name}."
    if self_model.narrative:
        text += f"\n\nWhat you are, in your own words: {one_line(self_model.narrative, 600)}"
    if facts := told_first(self_model.owner_facts, self_model.pinned, MAX_OWNER_FACTS):
        text += "\n\nWhat you know about the person:\n" + "\n".join(f"- {one_line(fact, 200)}" for fact in facts)
    if folded_summary:
        text += f"\n\nEarlier in this conversation, in short:\n{folded_summary}"
    return text


def messages_for(system: str, exchanges: Sequence[SentExchange], asked: str | None = None) -> tuple[Message, ...]:
    """The whole prompt; without `asked`, its beginning as far as it is known before the next word."""
    messages = [Message("system", system)]
    replies = only_what_is_new((one.owner_words, one.replied) for one in exchanges)
    for exchange, replied in zip(exchanges, replies, strict=True):
        messages.append(Message("user", exchange.asked))
        messages.append(Message("assistant", replied or "…"))
    if asked is not None:
        messages.append(Message("user", asked))
    return tuple(messages)


def choose_told(recall: Recall, shown_turn_ids: frozenset[str], now: float) -> list[Told]:
    """The memories worth telling, best first: the source turns that answer the cue, those nearest in meaning, then what
    else surfaced. Nothing is told twice, and what says nothing by itself ("Hello again!") is not told."""
    told: list[Told] = []
    seen_episodes: set[str] = set()
    for ranked in _worth_telling(recall, shown_turn_ids):
        told.append(Told(ranked.episode_id, ranked.turn.id, _turn_line(ranked, now)))
        seen_episodes.add(ranked.episode_id)
    for found in recall.episodes:
        if found.episode.id in seen_episodes:
            continue
        line = _episode_line(found, now)
        fresh = not any(turn.turn.id in shown_turn_ids for turn in found.turns[:1])
        if line and fresh:
            told.append(Told(found.episode.id, None, line))
    return told


def _worth_telling(recall: Recall, shown_turn_ids: frozenset[str]) -> list[RankedTurn]:
    """The best-ranked few, the few that are nearest in meaning and not nearly the same as one another, the next ranked.

    What tells nothing and what was told already is left out; what is nearly the same comes after what is not. Nothing
    is lost by that: a turn that differs in one word may be the one that corrects the other.
    """
    first = _telling(recall.turns[:TURNS_FIRST], shown_turn_ids)
    nearest, alike_nearest = _varied(_telling(recall.nearest, shown_turn_ids), first)
    rest = [*nearest[NEAREST_FIRST:], *_telling(recall.turns[TURNS_FIRST:TURNS_MOST], shown_turn_ids)]
    varied, alike = _varied(rest, [*first, *nearest[:NEAREST_FIRST]])
    chosen: dict[str, RankedTurn] = {}
    for ranked in (*first, *nearest[:NEAREST_FIRST], *varied, *alike, *alike_nearest):
        chosen.setdefault(" ".join(words_of(_quoted(ranked))), ranked)
    return list(chosen.values())


def _telling(turns: Sequence[RankedTurn], shown_turn_ids: frozenset[str]) -> list[RankedTurn]:
    return [ranked for ranked in turns if ranked.turn.id not in shown_turn_ids and telling(_quoted(ranked)) > 0.0]


def _quoted(ranked: RankedTurn) -> str:
    return one_line(ranked.turn.text, QUOTE_CHARS)


def _varied(turns: Sequence[RankedTurn], before: Sequence[RankedTurn]) -> tuple[list[RankedTurn], list[RankedTurn]]:
    """`turns` that are not nearly the same as one of them or of those `before`, and those that are."""
    varied, alike = list[RankedTurn](), list[RankedTurn]()
    seen = [frozenset(words_of(ranked.turn.text)) for ranked in before]
    for ranked in turns:
        words = frozenset(words_of(ranked.turn.text))
        is_alike = any(len(words & other) >= ALIKE_SHARE * len(words | other) for other in seen)
        (alike if is_alike else varied).append(ranked)
        seen.append(words)
    return varied, alike


def said_lately(exchanges: Sequence[SentExchange], words: str, *, has_notes: bool) -> tuple[str, ...]:
    """What the owner told in this conversation last, oldest first, as notes once more, where `words` ask something.

    It stands above already. But the model that ships answers "I don't know" to what it was told one message before, and
    answers from a note right before the words (docs/benchmarks.md). Where notes from memory stand there too
    (`has_notes`), only what the question speaks of, or points at ("Where does she start?"): else it is answered from
    what was said last, whatever was asked.
    """
    if manner_for(words) is not Manner.ANSWER:
        return ()
    said = [one.owner_words for one in exchanges if manner_for(one.owner_words) is Manner.TAKE_INTEREST]
    if has_notes and not _POINTING.search(words):
        asked = set(cue_terms(words))
        said = [one for one in said if asked & set(terms_of(one))]
    return tuple(f'- in this conversation, the person said: "{record(text, LATELY_CHARS)}"' for text in said[-LATELY:])


def asked_text(
    words: str,
    told: Sequence[Told],
    thought: str,
    now: float,
    silence: str = "",
    lately: Sequence[str] = (),
) -> str:
    """The last user message: notes from memory and what was said lately, the interrupted thought, what the silence
    before these words means, the time, then the words themselves.

    The best note stands last, nearest to the words: small models go by what they read last.
    """
    blocks: list[str] = []
    if notes := [*lately, *(item.line for item in reversed(told))]:
        blocks.append(f"{_SAID_NOTE}\n" + "\n".join(notes) + "]")
    if thought:
        blocks.append(f"{_THOUGHT_NOTE} {record(thought, THOUGHT_CHARS)}]")
    if silence:
        blocks.append(f"{_SILENCE_NOTE} {record(silence, SILENCE_CHARS)}.]")
    # A small model answers in the wrong person unless it is told so right before the words (docs/benchmarks.md).
    blocks.append(f"{_TIME_NOTE}{local_time(now)}. {manner_for(words).value}]")
    blocks.append(words)
    return "\n".join(blocks)


def fold(summary: str, exchanges: tuple[SentExchange, ...], budget_tokens: int, summary_chars: int) -> Folded:
    """Fold the oldest exchanges into `summary` when all of them take more than `budget_tokens`.

    The summary keeps its newest lines, `summary_chars` at most. What stays word for word is stripped of what was
    recalled for it then: the fold makes the model read it anew anyway.
    """
    kept = list(exchanges)
    folded: list[SentExchange] = []
    is_over = sum(exchange.tokens for exchange in exchanges) > budget_tokens
    while is_over and kept and sum(exchange.tokens for exchange in kept) > budget_tokens * FOLD_TO_SHARE:
        folded.append(kept.pop(0))
    lines = [line for line in summary.split("\n") if line]
    lines += [
        f"- They said: {one_line(gone.owner_words, SUMMARY_LINE_CHARS)} You answered{_answered(gone)}"
        for gone in folded
    ]
    while len("\n".join(lines)) > summary_chars:
        lines.pop(0)
    bare = tuple(replace(exchange, asked=exchange.owner_words) for exchange in kept) if folded else exchanges
    return Folded("\n".join(lines), bare, tuple(folded))


def _answered(gone: SentExchange) -> str:
    """The summary stands among the instructions: nothing in it is in the words of others (F1)."""
    if gone.is_tainted and stands(Gate.FOLD):
        return " with something that others had written."
    return f": {one_line(gone.replied, SUMMARY_LINE_CHARS)}"


def cut_middle(text: str, limit_chars: int) -> str:
    """`text` with its middle left out, and said so, when it is longer than `limit_chars`."""
    if len(text) <= limit_chars:
        return text
    half = max(1, limit_chars // 2)
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"


def stops_at(now: float) -> tuple[str, ...]:
    """Where a reply ends: a small model goes on with the notes of a next message that nobody wrote.

    At most four, for some providers take no more. With the weekday, since "[It is night.]" may be what was asked for.
    """
    weekday = local_time(now).split(maxsplit=1)[0]
    return tuple(f"\n{note}" for note in (_SAID_NOTE, _THOUGHT_NOTE, _SILENCE_NOTE, _TIME_NOTE + weekday))


def local_time(at: float) -> str:
    """A moment as a person of this place would say it: Saturday 21 November 2026, 14:05."""
    return datetime.fromtimestamp(at).strftime("%A %-d %B %Y, %H:%M")


def how_long_ago(at: float, now: float) -> str:
    """A past day in words that stay short: today, yesterday, on Tuesday, on 3 May, on 3 May 2024."""
    then, today = datetime.fromtimestamp(at), datetime.fromtimestamp(now)
    days = (today.date() - then.date()) // timedelta(days=1)
    if days <= 0:
        return f"today at {then:%H:%M}"
    if days == 1:
        return "yesterday"
    if days < 7:
        return f"on {then:%A}"
    return f"on {then:%-d %B}" if then.year == today.year else f"on {then:%-d %B %Y}"


def _turn_line(ranked: RankedTurn, now: float) -> str:
    turn = ranked.turn
    when = how_long_ago(turn.said_at, now)
    line = f'- {when}, {_speaker(turn)}: "{record(turn.text, QUOTE_CHARS)}"'
    if (by := ranked.replaced_by) is None:
        return line
    return line + "".join(_replaced_note(one, ranked) for one in (by, *ranked.also_replaced_by))


def _replaced_note(by: Replacement, ranked: RankedTurn) -> str:
    """What holds now, and in the place of which sentence where the turn says more than one thing."""
    of, whole = record(by.of, QUOTE_CHARS), " ".join(ranked.turn.text.split())
    what = f'"{of}"' if of and of != whole else "that"
    since = datetime.fromtimestamp(by.said_at).astimezone().strftime("%-d %B %Y")
    return f' ({what} was earlier; since {since}: "{record(by.quote, QUOTE_CHARS)}")'


def _episode_line(found: RecalledEpisode, now: float) -> str:
    when = how_long_ago(found.episode.created_at, now)
    if found.turns:
        return _turn_line(found.turns[0], now)
    if found.episode.origin is Origin.SELF:
        after = " after reading what others wrote" if found.episode.tainted else ""
        return f"- {when}, you thought{after}: {record(found.episode.summary, QUOTE_CHARS)}"
    from_others = ", partly in the words of others" if found.episode.tainted else ""
    return f"- {when}{from_others}: {record(found.episode.summary, QUOTE_CHARS)}"


def _speaker(turn: Turn) -> str:
    """Who said it, and that it was somebody else, where it was (F1)."""
    match turn.origin:
        case Origin.OWNER:
            return "the person said"
        case Origin.SELF if turn.tainted:
            return "you said, after reading what others wrote"
        case Origin.SELF:
            return "you said"
        case _ if one_line(turn.speaker).casefold() in _TAKEN:
            return f"somebody called {record(turn.speaker, 40)} said"
        case _ if turn.speaker:
            return f"{record(turn.speaker, 40)} said"
        case _:
            return "somebody else wrote"
