"""Chooses the recalled memories for the prompt of a turn, and puts them into words. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from reveries.index.terms import words_of
from reveries.knowledge.citations import OfferedPlace
from reveries.llm.base import ChatMessage
from reveries.memory.model import Origin, RankedTurn, Recall, RecalledEpisode, Replacement, Turn
from reveries.memory.recall.times_in_recall import MENTIONING
from reveries.memory.text.extracts import informativeness
from reveries.memory.text.quoting import quote_around
from reveries.safe_text import format_record, one_line

QUOTE_CHARS = 280
PARTNER_CHARS = 160
"""Length limit for the other half of a recalled exchange."""
NEAR_ENOUGH = 0.27
"""Minimum cosine with the cue, or share of its words, for a memory to count as relevant."""
NEAR_IN_TIME = 0.15
"""The same for a turn that was said at the time that the cue names."""
TURNS_FIRST = 4
"""Best-ranked source turns that come before those that are only nearest in meaning."""
NEAREST_FIRST = 4
"""Turns nearest in meaning that come next."""
TURNS_MOST = 12
"""Source turns that come before other memories."""
ALIKE_SHARE = 0.5
"""Share of common words from which two turns count as near duplicates."""

_RESERVED_NAMES = frozenset({"the person", "you", "user", "me", "i", "system", "assistant", "owner"})
"""Names that mean the owner, the mind or the rules in a prompt: no other speaker is called so there (F3)."""

_SENTENCE_END = re.compile(r"[.!?…。！？](?=\s|$)|[。！？]")


@dataclass(frozen=True, slots=True)
class PromptMemory:
    """A memory that is included in the prompt, and its episode."""

    episode_id: str
    turn_id: str | None
    line: str
    """The text for people, and for the model if it is a note."""
    messages: tuple[ChatMessage, ...] = ()
    """An earlier exchange as messages; empty for a note (untrusted text, a thought, a summary)."""
    said_at: float = 0.0
    turn_ids: tuple[str, ...] = ()
    """The ids of all turns in its messages."""
    project: str = ""
    """For a note on a project, its name; then `episode_id` is the id of a chunk or of the project."""
    quote: str = ""
    """What its speaker said; empty if it is not a turn."""
    match: float = 0.0
    """Cosine with the cue, or share of its words."""
    is_owners: bool = False
    """Whether `quote` is the owner's words."""
    is_tainted: bool = False
    """For a note on a project, whether untrusted text influenced it."""
    place: OfferedPlace | None = None
    """The place in a document that it offers to be cited."""
    looked_at: str = ""
    """The documents in which nothing fits the words, in words; empty for any other note."""


def is_about_memory(recall: Recall) -> bool:
    """Whether any recalled turn is near enough to the cue to be relevant: it was said at the time that the cue names,
    or matches it. For a general question, such as for a capital city or a rhyme, even the best match does not."""
    return recall.names_only_time or any(
        max(ranked.cosine, ranked.coverage) >= (NEAR_IN_TIME if ranked.is_in_time else NEAR_ENOUGH)
        for ranked in (*recall.turns[:TURNS_FIRST], *recall.nearest[:1])
    )


def choose_memories(recall: Recall, shown_turn_ids: frozenset[str], now: float) -> list[PromptMemory]:
    """Choose the memories for the prompt, best first: source turns that answer the cue, those nearest in meaning, then
    other memories. Without repetitions, and without turns that say nothing by themselves ("Hello again!")."""
    if not is_about_memory(recall):
        return []
    recall = without_other_times(recall)
    chosen: list[PromptMemory] = []
    seen_episodes: set[str] = set()
    seen_turns = set(shown_turn_ids)
    for ranked in rank_turns_to_show(recall, shown_turn_ids):
        item = _turn_memory(ranked, recall.cue, now)
        if ranked.turn.id not in seen_turns:
            chosen.append(item)
        seen_turns.update(item.turn_ids)
        seen_episodes.add(ranked.episode_id)
    for recalled in recall.episodes:
        if recalled.episode.id in seen_episodes:
            continue
        if recalled.turns:
            item = _turn_memory(recalled.turns[0], recall.cue, now)
            if recalled.turns[0].turn.id not in seen_turns:
                chosen.append(item)
                seen_turns.update(item.turn_ids)
        elif not _is_extract(recalled) and (line := _episode_line(recalled, now)):
            chosen.append(PromptMemory(recalled.episode.id, None, line))
    return chosen


def without_other_times(recall: Recall) -> Recall:
    """Return `recall`; if its cue names only a time, only what was said then, and what mentions it by its date."""
    if not recall.names_only_time:
        return recall
    in_time = tuple(ranked for ranked in recall.turns if ranked.is_in_time or ranked.coverage >= MENTIONING)
    return replace(recall, turns=in_time, episodes=())


def _is_extract(recalled: RecalledEpisode) -> bool:
    """Whether its summary only repeats sentences of the conversation, which is recalled verbatim anyway."""
    return recalled.episode.depth == "light" and recalled.episode.conversation_id is not None


def _turn_memory(ranked: RankedTurn, cue: str, now: float) -> PromptMemory:
    """Build the memory of a turn with the other half of its exchange as messages; a tainted one is a note (F1). Of a
    long turn the piece that `cue` asks for is quoted."""
    turn, partner = ranked.turn, ranked.partner
    quoted = quote_around(turn.text, cue, QUOTE_CHARS)
    line = _turn_line(ranked, quoted, now)
    notes = describe_replacements(ranked)
    quote, match = f"{quoted}{notes}", max(ranked.cosine, ranked.coverage)
    halves = [half for half in (turn, partner) if half is not None]
    if any(half.tainted or half.origin not in (Origin.OWNER, Origin.SELF) for half in halves):
        return PromptMemory(ranked.episode_id, turn.id, line, (), turn.said_at, (turn.id,), quote=quote, match=match)
    asked = next((half for half in halves if half.origin is Origin.OWNER), None)
    replied = next((half for half in halves if half.origin is Origin.SELF), None)
    asked_text = (quoted if asked is turn else _first_sentences(asked.text)) if asked else "…"
    answer = (quoted if replied is turn else _first_sentences(replied.text)) if replied else "…"
    messages = (
        ChatMessage("user", f"[{describe_day(turn.said_at, now)}] {asked_text}{notes if asked is turn else ''}"),
        ChatMessage("assistant", f"{answer}{notes if replied is turn else ''}"),
    )
    return PromptMemory(
        ranked.episode_id,
        turn.id,
        line,
        messages,
        turn.said_at,
        tuple(half.id for half in halves),
        quote=quote,
        match=match,
        is_owners=asked is turn,
    )


def _first_sentences(text: str) -> str:
    """Return the first whole sentences of `text` that fit, without an ellipsis: a small model would end its own replies
    with it."""
    line = format_record(text, len(text))
    if len(line) <= PARTNER_CHARS:
        return line
    ends = [ending.end() for ending in _SENTENCE_END.finditer(line) if ending.end() <= PARTNER_CHARS]
    return line[: ends[-1]].strip() if ends else line[:PARTNER_CHARS].rsplit(" ", 1)[0]


def _replacements(ranked: RankedTurn) -> tuple[Replacement, ...]:
    return (ranked.replaced_by, *ranked.also_replaced_by) if ranked.replaced_by is not None else ()


def rank_turns_to_show(recall: Recall, shown_turn_ids: frozenset[str]) -> list[RankedTurn]:
    """Return the best-ranked turns, those nearest in meaning without near duplicates, then the next ranked.

    Turns that say nothing or are in the prompt already are left out; near duplicates come last. They are not dropped,
    because a turn that differs in one word may be the one that corrects the other.
    """
    first = _informative_turns(recall.turns[:TURNS_FIRST], shown_turn_ids)
    nearest, alike_nearest = _split_alike(_informative_turns(recall.nearest, shown_turn_ids), first)
    rest = [*nearest[NEAREST_FIRST:], *_informative_turns(recall.turns[TURNS_FIRST:TURNS_MOST], shown_turn_ids)]
    varied, alike = _split_alike(rest, [*first, *nearest[:NEAREST_FIRST]])
    chosen: dict[str, RankedTurn] = {}
    for ranked in (*first, *nearest[:NEAREST_FIRST], *varied, *alike, *alike_nearest):
        chosen.setdefault(" ".join(words_of(_quote_turn(ranked))), ranked)
    return list(chosen.values())


def _informative_turns(turns: Sequence[RankedTurn], shown_turn_ids: frozenset[str]) -> list[RankedTurn]:
    return [
        ranked
        for ranked in turns
        if ranked.turn.id not in shown_turn_ids and informativeness(_quote_turn(ranked)) > 0.0
    ]


def _quote_turn(ranked: RankedTurn) -> str:
    return one_line(ranked.turn.text, QUOTE_CHARS)


def _split_alike(
    turns: Sequence[RankedTurn], before: Sequence[RankedTurn]
) -> tuple[list[RankedTurn], list[RankedTurn]]:
    """Split `turns` into those without a near duplicate among them or among `before`, and the near duplicates."""
    varied, alike = list[RankedTurn](), list[RankedTurn]()
    seen = [frozenset(words_of(ranked.turn.text)) for ranked in before]
    for ranked in turns:
        words = frozenset(words_of(ranked.turn.text))
        is_alike = any(len(words & other) >= ALIKE_SHARE * len(words | other) for other in seen)
        (alike if is_alike else varied).append(ranked)
        seen.append(words)
    return varied, alike


def describe_day(at: float, now: float) -> str:
    """Format a day so that the text stays true however long it is in the history."""
    then = datetime.fromtimestamp(at)
    return then.strftime("%A %-d %B" if then.year == datetime.fromtimestamp(now).year else "%A %-d %B %Y")


def how_long_ago(at: float, now: float) -> str:
    """Format a past day in short: today, yesterday, on Tuesday, on 3 May, on 3 May 2024."""
    then, today = datetime.fromtimestamp(at), datetime.fromtimestamp(now)
    days = (today.date() - then.date()) // timedelta(days=1)
    if days <= 0:
        return f"today at {then:%H:%M}"
    if days == 1:
        return "yesterday"
    if days < 7:
        return f"on {then:%A}"
    return f"on {then:%-d %B}" if then.year == today.year else f"on {then:%-d %B %Y}"


def _turn_line(ranked: RankedTurn, quoted: str, now: float) -> str:
    turn = ranked.turn
    when = how_long_ago(turn.said_at, now)
    line = f'- {when}, {describe_speaker(turn)}: "{quoted}"'
    return line + describe_replacements(ranked)


def describe_replacements(ranked: RankedTurn) -> str:
    """Say what replaced statements of the turn, and since when; empty if nothing did."""
    return "".join(_replacement_note(by, ranked) for by in _replacements(ranked))


def _replacement_note(by: Replacement, ranked: RankedTurn) -> str:
    """Format what replaced a statement of the turn, naming the statement if the turn has more than one."""
    of, whole = format_record(by.of, QUOTE_CHARS), " ".join(ranked.turn.text.split())
    what = f'"{of}"' if of and of != whole else "that"
    since = datetime.fromtimestamp(by.said_at).astimezone().strftime("%-d %B %Y")
    return f' ({what} was earlier; since {since}: "{format_record(by.quote, QUOTE_CHARS)}")'


def _episode_line(recalled: RecalledEpisode, now: float) -> str:
    when = how_long_ago(recalled.episode.created_at, now)
    if recalled.episode.origin is Origin.SELF:
        after = " after reading what others wrote" if recalled.episode.tainted else ""
        return f"- {when}, you thought{after}: {format_record(recalled.episode.summary, QUOTE_CHARS)}"
    from_others = ", partly in the words of others" if recalled.episode.tainted else ""
    return f"- {when}{from_others}: {format_record(recalled.episode.summary, QUOTE_CHARS)}"


def describe_speaker(turn: Turn) -> str:
    """Name the speaker of `turn`, so that the model can tell other people from the owner (F1)."""
    match turn.origin:
        case Origin.OWNER:
            return "the person said"
        case Origin.SELF if turn.tainted:
            return "you said, after reading what others wrote"
        case Origin.SELF:
            return "you said"
        case _ if one_line(turn.speaker).casefold() in _RESERVED_NAMES:
            return f"somebody called {format_record(turn.speaker, 40)} said"
        case _ if turn.speaker:
            return f"{format_record(turn.speaker, 40)} said"
        case _:
            return "somebody else wrote"
