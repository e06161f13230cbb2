"""What the model reads for a turn, and how a long conversation is folded. Pure.

It only ever grows at its end, so that a model's prompt cache spares it the re-reading: rules, self-model and folded
summary in the system message; then the history exactly as it was sent; then what was recalled for the new words, as the
earlier messages that it was; then the new words.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from reveries import gates
from reveries.index.terms import words_of
from reveries.llm.base import ChatMessage
from reveries.memory.model import (
    Origin,
    RankedTurn,
    Recall,
    RecalledEpisode,
    Replacement,
    SelfModel,
    Turn,
)
from reveries.memory.self_model import limit_statements
from reveries.memory.text.extracts import informativeness
from reveries.safe_text import one_line, record

QUOTE_CHARS = 280
PARTNER_CHARS = 160
"""The other half of a recalled exchange may take so many characters."""
THOUGHT_CHARS = 240
SILENCE_CHARS = 160
SUMMARY_LINE_CHARS = 160
SUMMARY_SHARE = 0.1
"""The folded summary may take this share of the model's context."""
MAX_OWNER_FACTS = 12
NEAR_ENOUGH = 0.27
"""Cosine with the cue, or share of its words: below it nothing that surfaced has to do with it."""
TURNS_FIRST = 4
"""So many of the best-ranked source turns come before those that are only nearest in meaning."""
NEAREST_FIRST = 4
"""So many of those that are nearest in meaning come next."""
TURNS_MOST = 12
"""So many source turns come before what else surfaced."""
ALIKE_SHARE = 0.5
"""Two turns that share so many of their words are nearly the same."""

QUESTION_MARKS: Final = frozenset("?\u037e\u061f\uff1f")
"""Of Latin, Greek, Arabic and Chinese letters."""

_SAID_NOTE = "[From memory:"
_THOUGHT_NOTE = "[Nobody spoke, and you were thinking.]"
_NOTED = "I remember."
_GREETED = "Hello."
"""What the mind is taken to have answered to a note, and to a new day: roles take turns in every model's template."""
_TAKEN = frozenset({"the person", "you", "user", "me", "i", "system", "assistant", "owner"})
"""Names that stand for the owner, the mind or the rules in a prompt: nobody else is called so there (F3)."""

_SENTENCE_END = re.compile(r"[.!?…。！？](?=\s|$)|[。！？]")

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
    recalled: tuple[ChatMessage, ...] = ()
    """Earlier exchanges that were recalled for it, as the messages that stood before it."""
    recalled_turn_ids: tuple[str, ...] = ()
    said_at: float = 0.0
    is_carried: bool = False
    """It is of an earlier conversation: it leaves the history without a word in the summary of this one."""


@dataclass(frozen=True, slots=True)
class PromptMemory:
    """A memory that is put before the model, and the episode behind it."""

    episode_id: str
    turn_id: str | None
    line: str
    """For people, and for the model where it is a note."""
    messages: tuple[ChatMessage, ...] = ()
    """An earlier exchange, as the model reads it; empty for a note: what others wrote, a thought, a summary."""
    said_at: float = 0.0
    turn_ids: tuple[str, ...] = ()
    """Every turn that its messages hold."""
    partner_line: str = ""
    """The other half of the exchange, for a note; empty until recall brings that up, too."""
    project: str = ""
    """Of a note on a project: its name; then `episode_id` is a chunk of it, or the project."""
    is_tainted: bool = False
    """Of a note on a project: somebody else had a hand in it."""

    @property
    def noted_turn_ids(self) -> tuple[str, ...]:
        """The turns that it holds as a line of a note."""
        return self.turn_ids if self.partner_line or not self.messages else (self.turn_id or "",)


@dataclass(frozen=True, slots=True)
class FoldedHistory:
    """A history that fits, with what was folded away into the summary."""

    summary: str
    exchanges: tuple[SentExchange, ...]
    folded: tuple[SentExchange, ...]


def system_text(rules: str, owner_name: str, self_model: SelfModel, folded_summary: str) -> str:
    """The stable part. Byte-equal as long as the model's tier, the self-model and the fold are."""
    text = rules
    if owner_name:
        text += f"\nThe person's name is {owner_name}."
    if self_model.narrative:
        text += f"\n\nWhat you are, in your own words: {one_line(self_model.narrative, 600)}"
    if facts := limit_statements(self_model.owner_facts, self_model.pinned, MAX_OWNER_FACTS):
        text += "\n\nWhat you know about the person:\n" + "\n".join(f"- {one_line(fact, 200)}" for fact in facts)
    if folded_summary:
        text += f"\n\nEarlier in this conversation, in short:\n{folded_summary}"
    return text


def messages_for(
    system: str,
    exchanges: Sequence[SentExchange],
    asked: str | None = None,
    recalled: Sequence[ChatMessage] = (),
) -> tuple[ChatMessage, ...]:
    """The whole prompt; without `asked`, its beginning as far as it is known before the next word."""
    messages = [ChatMessage("system", system)]
    for one in exchanges:
        messages += (*one.recalled, ChatMessage("user", one.asked), ChatMessage("assistant", one.replied or "…"))
    messages += recalled
    if asked is not None:
        messages.append(ChatMessage("user", asked))
    return tuple(messages)


def day_messages(at: float) -> tuple[ChatMessage, ...]:
    """What stands before the first words of a day."""
    return ChatMessage("user", f"[{local_day(at)}]"), ChatMessage("assistant", _GREETED)


def recalled_messages(told: Sequence[PromptMemory], thought: str = "", silence: str = "") -> tuple[ChatMessage, ...]:
    """What stands before the new words: notes of what others wrote and of what a silence means, earlier exchanges as
    messages in order of time, and the thought that the words interrupted."""
    messages: list[ChatMessage] = []
    if notes := [item.line for item in reversed(told) if not item.messages]:
        messages += (ChatMessage("user", f"{_SAID_NOTE}\n" + "\n".join(notes) + "]"), ChatMessage("assistant", _NOTED))
    for item in sorted((item for item in told if item.messages), key=lambda item: item.said_at):
        messages += item.messages
    if silence:
        messages += (ChatMessage("user", f"[{record(silence, SILENCE_CHARS)}]"), ChatMessage("assistant", _NOTED))
    if thought:
        messages += (ChatMessage("user", _THOUGHT_NOTE), ChatMessage("assistant", record(thought, THOUGHT_CHARS)))
    return tuple(messages)


def messages_before_words(
    exchanges: Sequence[SentExchange], told: Sequence[PromptMemory], now: float, thought: str, silence: str = ""
) -> tuple[ChatMessage, ...]:
    """What stands between the history and the new words: a new day, then what comes to mind."""
    is_new_day = not exchanges or local_day(exchanges[-1].said_at) != local_day(now)
    return (*(day_messages(now) if is_new_day else ()), *recalled_messages(told, thought, silence))


def split_notes(words: str, told: Sequence[PromptMemory]) -> tuple[str, Sequence[PromptMemory]]:
    """What was said on other days, and what a project knows, as one note, to stand in the same message before a
    question, and what is left of `told`; no note before anything else. A question is what has a question mark in its
    last line.

    A small model answers from a note right before the question more often than from the same lines as earlier messages;
    what somebody tells it, it takes for a question then (docs/benchmarks/talk.md).
    """
    said = sorted((item for item in told if item.messages), key=lambda item: item.said_at)
    known = [item for item in told if item.project]
    if not (said or known) or QUESTION_MARKS.isdisjoint(words.strip().rpartition("\n")[2]):
        return "", told
    # What is known of the project stands nearest to the question about it.
    lines = [line for item in (*said, *reversed(known)) for line in (item.line, item.partner_line) if line]
    note = f"{_SAID_NOTE}\n" + "\n".join(lines) + "]\n"
    return note, [item for item in told if not item.messages and not item.project]


def is_about_memory(recall: Recall) -> bool:
    """Whether anything that surfaced is near enough to the cue to be worth reading: not what merely came first, when
    somebody asks for a capital city or a rhyme."""
    return any(
        max(ranked.cosine, ranked.coverage) >= NEAR_ENOUGH
        for ranked in (*recall.turns[:TURNS_FIRST], *recall.nearest[:1])
    )


def choose_told(recall: Recall, shown_turn_ids: frozenset[str], now: float) -> list[PromptMemory]:
    """The memories worth telling, best first: the source turns that answer the cue, those nearest in meaning, then what
    else surfaced. Nothing is told twice, and what says nothing by itself ("Hello again!") is not told."""
    if not is_about_memory(recall):
        return []
    told: list[PromptMemory] = []
    seen_episodes: set[str] = set()
    seen_turns = set(shown_turn_ids)
    for ranked in _worth_telling(recall, shown_turn_ids):
        item = _told_turn(ranked, now)
        if ranked.turn.id not in seen_turns:
            told.append(item)
        else:
            told = [_with_partner(one, item) for one in told]
        seen_turns.update(item.turn_ids)
        seen_episodes.add(ranked.episode_id)
    for found in recall.episodes:
        if found.episode.id in seen_episodes:
            continue
        if found.turns:
            item = _told_turn(found.turns[0], now)
            if found.turns[0].turn.id not in seen_turns:
                told.append(item)
                seen_turns.update(item.turn_ids)
        elif not _is_extract(found) and (line := _episode_line(found, now)):
            told.append(PromptMemory(found.episode.id, None, line))
    return told


def _is_extract(found: RecalledEpisode) -> bool:
    """Whether its summary only repeats sentences of the talk that is recalled word for word anyway."""
    return found.episode.depth == "light" and found.episode.conversation_id is not None


def _told_turn(ranked: RankedTurn, now: float) -> PromptMemory:
    """A turn with the other half of its exchange, as it was; what others had a hand in is a note (F1)."""
    turn, partner = ranked.turn, ranked.partner
    line = _turn_line(ranked, now)
    halves = [one for one in (turn, partner) if one is not None]
    if any(one.tainted or one.origin not in (Origin.OWNER, Origin.SELF) for one in halves):
        return PromptMemory(ranked.episode_id, turn.id, line, (), turn.said_at, (turn.id,))
    asked = next((one for one in halves if one.origin is Origin.OWNER), None)
    replied = next((one for one in halves if one.origin is Origin.SELF), None)
    said = (record(asked.text, QUOTE_CHARS) if asked is turn else _first_sentences(asked.text)) if asked else "…"
    notes = "".join(_replaced_note(one, ranked) for one in _replacements(ranked))
    answer = (
        (record(replied.text, QUOTE_CHARS) if replied is turn else _first_sentences(replied.text)) if replied else "…"
    )
    messages = (
        ChatMessage("user", f"[{_day_mark(turn.said_at, now)}] {said}{notes if asked is turn else ''}"),
        ChatMessage("assistant", f"{answer}{notes if replied is turn else ''}"),
    )
    return PromptMemory(ranked.episode_id, turn.id, line, messages, turn.said_at, tuple(one.id for one in halves))


def _with_partner(item: PromptMemory, other: PromptMemory) -> PromptMemory:
    """`item` with the line of `other`, if that is the other half of the same exchange."""
    is_other_half = other.turn_id != item.turn_id and other.turn_id in item.turn_ids
    return replace(item, partner_line=other.line) if is_other_half else item


def _first_sentences(text: str) -> str:
    """The first whole sentences of `text`, as many as there is room for; without a mark of what is left out: a small
    model would end its own replies with it."""
    line = record(text, len(text))
    if len(line) <= PARTNER_CHARS:
        return line
    ends = [found.end() for found in _SENTENCE_END.finditer(line) if found.end() <= PARTNER_CHARS]
    return line[: ends[-1]].strip() if ends else line[:PARTNER_CHARS].rsplit(" ", 1)[0]


def _replacements(ranked: RankedTurn) -> tuple[Replacement, ...]:
    return (ranked.replaced_by, *ranked.also_replaced_by) if ranked.replaced_by is not None else ()


def _worth_telling(recall: Recall, shown_turn_ids: frozenset[str]) -> list[RankedTurn]:
    """The best-ranked few, the few that are nearest in meaning and not nearly the same as one another, the next ranked.

    What tells nothing and what was told already is left out; what is nearly the same comes after what is not. Nothing
    is lost by that: a turn that differs in one word may be the one that corrects the other.
    """
    first = _turns_that_tell(recall.turns[:TURNS_FIRST], shown_turn_ids)
    nearest, alike_nearest = _split_alike(_turns_that_tell(recall.nearest, shown_turn_ids), first)
    rest = [*nearest[NEAREST_FIRST:], *_turns_that_tell(recall.turns[TURNS_FIRST:TURNS_MOST], shown_turn_ids)]
    varied, alike = _split_alike(rest, [*first, *nearest[:NEAREST_FIRST]])
    chosen: dict[str, RankedTurn] = {}
    for ranked in (*first, *nearest[:NEAREST_FIRST], *varied, *alike, *alike_nearest):
        chosen.setdefault(" ".join(words_of(_quote_of(ranked))), ranked)
    return list(chosen.values())


def _turns_that_tell(turns: Sequence[RankedTurn], shown_turn_ids: frozenset[str]) -> list[RankedTurn]:
    return [
        ranked for ranked in turns if ranked.turn.id not in shown_turn_ids and informativeness(_quote_of(ranked)) > 0.0
    ]


def _quote_of(ranked: RankedTurn) -> str:
    return one_line(ranked.turn.text, QUOTE_CHARS)


def _split_alike(
    turns: Sequence[RankedTurn], before: Sequence[RankedTurn]
) -> tuple[list[RankedTurn], list[RankedTurn]]:
    """`turns` that are not nearly the same as one of them or of those `before`, and those that are."""
    varied, alike = list[RankedTurn](), list[RankedTurn]()
    seen = [frozenset(words_of(ranked.turn.text)) for ranked in before]
    for ranked in turns:
        words = frozenset(words_of(ranked.turn.text))
        is_alike = any(len(words & other) >= ALIKE_SHARE * len(words | other) for other in seen)
        (alike if is_alike else varied).append(ranked)
        seen.append(words)
    return varied, alike


def fold(summary: str, exchanges: tuple[SentExchange, ...], budget_tokens: int, summary_chars: int) -> FoldedHistory:
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
        f"- They said: {one_line(gone.owner_words, SUMMARY_LINE_CHARS)} You answered{_answer_in_short(gone)}"
        for gone in folded
        if not gone.is_carried
    ]
    while len("\n".join(lines)) > summary_chars:
        lines.pop(0)
    bare = with_days([_bare(exchange) for exchange in kept]) if folded else exchanges
    return FoldedHistory("\n".join(lines), tuple(bare), tuple(folded))


def _bare(exchange: SentExchange) -> SentExchange:
    return replace(exchange, asked=exchange.owner_words, recalled=(), recalled_turn_ids=())


def with_days(exchanges: Sequence[SentExchange]) -> list[SentExchange]:
    """The same exchanges, the first of each day with the day before it."""
    marked: list[SentExchange] = []
    for at, one in enumerate(exchanges):
        is_first = not at or local_day(exchanges[at - 1].said_at) != local_day(one.said_at)
        marked.append(replace(one, recalled=day_messages(one.said_at)) if is_first else one)
    return marked


def _answer_in_short(gone: SentExchange) -> str:
    """The summary stands among the instructions: nothing in it is in the words of others (F1)."""
    if gone.is_tainted and gates.stands(gates.Gate.FOLD):
        return " with something that others had written."
    return f": {one_line(gone.replied, SUMMARY_LINE_CHARS)}"


def cut_middle(text: str, limit_chars: int) -> str:
    """`text` with its middle left out, and said so, when it is longer than `limit_chars`."""
    if len(text) <= limit_chars:
        return text
    half = max(1, limit_chars // 2)
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"


STOPS = (f"\n{_SAID_NOTE}", f"\n{_THOUGHT_NOTE}")
"""Where a reply ends: a small model goes on with the notes of a next message that nobody wrote."""


def local_time(at: float) -> str:
    """A moment as a person of this place would say it: Saturday 21 November 2026, 14:05."""
    return datetime.fromtimestamp(at).strftime("%A %-d %B %Y, %H:%M")


def local_day(at: float) -> str:
    """A day as a person of this place would say it: Saturday 21 November 2026."""
    return datetime.fromtimestamp(at).strftime("%A %-d %B %Y")


def _day_mark(at: float, now: float) -> str:
    """A day in words that stay true however long they stand in a history."""
    then = datetime.fromtimestamp(at)
    return then.strftime("%A %-d %B" if then.year == datetime.fromtimestamp(now).year else "%A %-d %B %Y")


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
    return line + "".join(_replaced_note(one, ranked) for one in _replacements(ranked))


def _replaced_note(by: Replacement, ranked: RankedTurn) -> str:
    """What holds now, and in the place of which sentence where the turn says more than one thing."""
    of, whole = record(by.of, QUOTE_CHARS), " ".join(ranked.turn.text.split())
    what = f'"{of}"' if of and of != whole else "that"
    since = datetime.fromtimestamp(by.said_at).astimezone().strftime("%-d %B %Y")
    return f' ({what} was earlier; since {since}: "{record(by.quote, QUOTE_CHARS)}")'


def _episode_line(found: RecalledEpisode, now: float) -> str:
    when = how_long_ago(found.episode.created_at, now)
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
