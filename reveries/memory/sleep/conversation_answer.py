"""Checks a capable model's answer about a whole conversation. Pure.

The answer is untrusted input: quotes must stand in the text, names and numbers in what the model read, ids must be
among those shown. What does not pass is dropped by itself; a part without a usable answer keeps its extract.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import pairwise
from typing import Final

import msgspec

from reveries.index.terms import terms_of
from reveries.memory.model import DayUnit, Episode, Exemplar, Origin, StatementDay, Turn
from reveries.memory.sleep.conversation_question import KnownThings, known_texts, known_things
from reveries.memory.sleep.grounding import drop_switched_tail, is_grounded
from reveries.memory.sleep.questions import (
    Abstraction,
    Asker,
    FactAnswer,
    WaitingNote,
    find_quote,
    tidy_line,
    tidy_topics,
)
from reveries.memory.sleep.reading import ExperiencePart, Reading
from reveries.memory.sleep.self_model_changes import TRAIT_FIELDS, NewFact, SelfUpdate, Trait
from reveries.memory.text.extracts import join_sentences, make_exemplar, sentences_of, summary_of

_MOST_QUOTES = 3
_MOST_CHANGED = 3
_MOST_FACTS = 12
_MOST_THREADS = 6
_STATEMENT_CHARS: Final = 160
_DAYS_BEFORE, _DAYS_AFTER = 14, 62
_MOST_DAYS = 200
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0eff]+")
_UNITS: Final = {len("2026-08"): DayUnit.MONTH, len("2026"): DayUnit.YEAR}
_FIRST_DAY: Final = {DayUnit.DAY: "", DayUnit.MONTH: "-01", DayUnit.YEAR: "-01-01"}
_OLDEST = date(1900, 1, 1)
_LONGEST_AHEAD = timedelta(days=10 * 365)


class PartQuote(msgspec.Struct, frozen=True):
    quote: str
    why: str = ""


class PartAnswer(msgspec.Struct, frozen=True):
    """The answer about one numbered part."""

    number: int
    summary: str = ""
    topics: list[str] = []
    quotes: list[PartQuote] = []
    salience: float = 0.0
    led_by: str = ""
    changed: list[FactAnswer] = []


class FactStated(msgspec.Struct, frozen=True):
    fact: str
    quote: str = ""
    since: str = ""
    replaces: list[str] = []


class EndOfKnown(msgspec.Struct, frozen=True):
    id: str
    quote: str = ""


class ThreadOpened(msgspec.Struct, frozen=True):
    thread: str
    quote: str = ""


class TraitShown(msgspec.Struct, frozen=True):
    field: str
    statement: str = ""
    quote: str = ""
    on: str = ""


class SelfPart(msgspec.Struct, frozen=True):
    """What the text changes in what is known."""

    facts: list[FactStated] = []
    ended: list[EndOfKnown] = []
    opened: list[ThreadOpened] = []
    closed: list[EndOfKnown] = []
    traits: list[TraitShown] = []
    patterns: list[str] = []
    communication_style: str = ""
    current_focus: str = ""
    narrative: str = ""


class ConversationAnswer(msgspec.Struct, frozen=True):
    parts: list[PartAnswer]
    self: SelfPart | None = None


@dataclass(frozen=True, slots=True)
class CheckedConversation:
    """What remains of an answer."""

    parts: tuple[tuple[ExperiencePart, Abstraction], ...]
    missing: tuple[ExperiencePart, ...]
    """Parts without a usable answer."""
    about_self: SelfUpdate | None
    answered_notes: tuple[WaitingNote, ...] = ()
    """Notes to the owner that the owner's later words answer."""


def check_conversation(
    answer: ConversationAnswer, reading: Reading, earlier: Sequence[Episode], asker: Asker
) -> CheckedConversation:
    """Check `answer`. Of two answers about one part the first counts; those about none are dropped."""
    grounds = _Grounds(reading, earlier, asker)
    by_number: dict[int, PartAnswer] = {}
    for about in answer.parts:
        by_number.setdefault(about.number, about)
    checked: list[tuple[ExperiencePart, Abstraction]] = []
    missing: list[ExperiencePart] = []
    for number, part in enumerate(reading.parts, 1):
        about_part = by_number.get(number)
        if about_part is None or not about_part.summary.strip():
            missing.append(part)
        else:
            cause_id = _cause_id(about_part.led_by, number, reading, grounds.things)
            checked.append((part, _check_part(about_part, part, grounds, cause_id)))
    if reading.is_foreign or answer.self is None:
        return CheckedConversation(tuple(checked), tuple(missing), None)
    answered = tuple(_check_answered(answer.self.closed, grounds))
    return CheckedConversation(tuple(checked), tuple(missing), _check_self(answer.self, grounds), answered)


class _Grounds:
    """What an answer may rest on: the text, and what was shown with it."""

    def __init__(self, reading: Reading, earlier: Sequence[Episode], asker: Asker) -> None:
        self.turns = reading.turns
        self.is_foreign = reading.is_foreign
        self.things = known_things(asker, earlier)
        self.said_at = self.turns[-1].said_at if self.turns else asker.now
        self._owner_turns = [turn for turn in self.turns if turn.origin is Origin.OWNER]
        self.owner_words = "\n".join(turn.text for turn in self._owner_turns)
        self.last_word_at = self._owner_turns[-1].said_at if self._owner_turns else self.said_at
        """When the owner spoke last: thoughts that are read with a talk may be a day younger."""
        year = datetime.fromtimestamp(self.said_at).year
        # "Last spring" has a year that is not said.
        texts = [*known_texts(asker, earlier), f"{year - 1} {year} {year + 1}"]
        self._source = "\n".join([*texts, *(f"{turn.speaker}: {turn.text}" for turn in self.turns)])
        self._near_days = _near_days(self.turns[0].said_at if self.turns else asker.now, self.said_at)

    def keep(self, text: str, limit: int) -> str:
        """Return the sentences of `text` whose names and numbers are in the sources, or are a day near it that is
        written out."""
        kept = (
            sentence
            for sentence in sentences_of(drop_switched_tail(text, self._source))
            if is_grounded(self._near_days.sub(" ", sentence), self._source)
        )
        return tidy_line(join_sentences(kept), limit)

    def quoted(self, quote: str) -> Turn | None:
        """Return the turn that says `quote`."""
        match = find_quote(quote, self.turns)
        return match[1] if match is not None else None

    def owner_quoted(self, quote: str) -> Turn | None:
        """Return the turn of the owner that says `quote`."""
        match = find_quote(quote, self._owner_turns)
        return match[1] if match is not None else None


def _check_part(answer: PartAnswer, part: ExperiencePart, grounds: _Grounds, cause_id: str) -> Abstraction:
    exemplars = [exact for quoted in answer.quotes if (exact := _exemplar(quoted, part.turns)) is not None]
    asked = len(answer.quotes)
    salience = answer.salience if math.isfinite(answer.salience) else 0.0
    return Abstraction(
        summary=grounds.keep(answer.summary, 600) or summary_of(part.turns),
        topics=tidy_topics(answer.topics),
        exemplars=tuple(exemplars[:_MOST_QUOTES]),
        patterns=(),
        salience=round(max(0.0, min(1.0, salience)), 3),
        confidence=round(0.2 + 0.8 * (len(exemplars) / asked if asked else 0.5), 3),
        reasoning="",
        facts=tuple(answer.changed[:_MOST_CHANGED]),
        cause_id=cause_id,
        is_foreign=grounds.is_foreign,
    )


def _exemplar(quoted: PartQuote, turns: Sequence[Turn]) -> Exemplar | None:
    match = find_quote(quoted.quote, turns)
    return make_exemplar(match[0], match[1], tidy_line(quoted.why, 120)) if match is not None else None


def _cause_id(led_by: str, number: int, reading: Reading, things: KnownThings) -> str:
    name = led_by.strip().strip("[]")
    if name in things.earlier:
        return things.earlier[name].id
    if name.isdigit() and 0 < int(name) < number:
        return reading.parts[int(name) - 1].home.id
    return ""


def _check_self(answer: SelfPart, grounds: _Grounds) -> SelfUpdate:
    return SelfUpdate(
        said_at=grounds.last_word_at,
        narrative=grounds.keep(answer.narrative, 300),
        communication_style=grounds.keep(answer.communication_style, 160),
        current_focus=grounds.keep(answer.current_focus, 100),
        facts=tuple(_check_facts(answer.facts[:_MOST_FACTS], grounds)),
        ended=tuple(_check_ends(answer.ended, {**grounds.things.facts, **grounds.things.anticipations}, grounds)),
        opened_threads=tuple(_check_opened(answer.opened[:_MOST_THREADS], grounds)),
        closed_threads=tuple(_check_ends(answer.closed, grounds.things.threads, grounds)),
        patterns=tuple(kept for text in answer.patterns[:2] if (kept := grounds.keep(text, 120))),
        traits=tuple(_check_traits(answer.traits[:_MOST_QUOTES], grounds)),
    )


def _check_facts(answers: Iterable[FactStated], grounds: _Grounds) -> Iterator[NewFact]:
    """Yield the facts that the owner states: the quote is the owner's, and the fact is about what the owner says."""
    for answer in answers:
        turn, text = grounds.owner_quoted(answer.quote), grounds.keep(answer.fact, _STATEMENT_CHARS)
        if turn is not None and shares_words(text, grounds.owner_words):
            replaced = [grounds.things.facts[name] for name in answer.replaces if name in grounds.things.facts]
            since, unit = day_at(answer.since, turn.said_at)
            yield NewFact(text, since, tuple(replaced), unit, turn.said_at)


def _check_ends(
    answers: Iterable[EndOfKnown], statements: Mapping[str, str], grounds: _Grounds
) -> Iterator[StatementDay]:
    """Yield the known statements that end, each with the time of the words that end it."""
    for answer in answers:
        turn = grounds.quoted(answer.quote)
        if answer.id in statements and turn is not None:
            yield StatementDay(statements[answer.id], turn.said_at, turn.said_at)


def _check_answered(answers: Iterable[EndOfKnown], grounds: _Grounds) -> Iterator[WaitingNote]:
    """Yield the waiting notes that the owner's words answer: words from before a note cannot."""
    for answer in answers:
        note, turn = grounds.things.notes.get(answer.id), grounds.owner_quoted(answer.quote)
        if note is not None and turn is not None and turn.said_at > note.written_at:
            yield note


def _check_opened(answers: Iterable[ThreadOpened], grounds: _Grounds) -> Iterator[StatementDay]:
    for answer in answers:
        turn, text = grounds.quoted(answer.quote), grounds.keep(answer.thread, _STATEMENT_CHARS)
        if turn is not None and text:
            yield StatementDay(text, turn.said_at, turn.said_at)


def _check_traits(answers: Iterable[TraitShown], grounds: _Grounds) -> Iterator[Trait]:
    for answer in answers:
        turn, text = grounds.quoted(answer.quote), grounds.keep(answer.statement, 120)
        if answer.field in TRAIT_FIELDS and turn is not None and shares_words(text, answer.quote):
            comes_at, unit = day_at(answer.on, turn.said_at)
            is_ahead = answer.field == "anticipations" and comes_at > turn.said_at
            day = StatementDay(
                text, comes_at if is_ahead else turn.said_at, turn.said_at, unit if is_ahead else DayUnit.DAY
            )
            yield Trait(answer.field, text, tidy_line(answer.quote, 300), day)


def shares_words(text: str, words: str) -> bool:
    """Whether `text` and `words` have a content word in common; of scripts without spaces, two characters."""
    if set(terms_of(text)) & set(terms_of(words)):
        return True
    return any(pair in words for run in _UNSPACED.findall(text) for pair in map("".join, pairwise(run)))


def day_at(since: str, said_at: float) -> tuple[float, DayUnit]:
    """Return noon of the day `since` (YYYY-MM-DD), or of the first day of that month (YYYY-MM) or year (YYYY), and how
    exact that is; `said_at` if it is no plausible day, or the one on which it was said."""
    written = since.strip()
    unit = _UNITS.get(len(written), DayUnit.DAY)
    try:
        day = date.fromisoformat(f"{written}{_FIRST_DAY[unit]}")
    except ValueError:
        return said_at, DayUnit.DAY
    said_on = datetime.fromtimestamp(said_at).date()
    if not _OLDEST <= day <= said_on + _LONGEST_AHEAD or day == said_on:
        return said_at, DayUnit.DAY
    return datetime.combine(day, time(12)).timestamp(), unit


def _near_days(first: float, last: float) -> "re.Pattern[str]":
    """Return a pattern of the days around the text, as they are written out: "on Monday" may become one of them."""
    begin = datetime.fromtimestamp(first).date() - timedelta(days=_DAYS_BEFORE)
    count = (datetime.fromtimestamp(last).date() - begin).days + _DAYS_AFTER
    days = [begin + timedelta(days=ahead) for ahead in range(min(count, _MOST_DAYS))]
    return re.compile(r"\b(?:" + "|".join(map(_written_out, days)) + r")\b", re.IGNORECASE)


def _written_out(day: date) -> str:
    month, weekday = rf"(?:{day:%B}|{day:%b}\.?)", rf"(?:(?:{day:%A}|{day:%a})\.?,? )?"
    number = rf"0?{day.day}(?:st|nd|rd|th|\.)?"
    return (
        rf"{weekday}{number} {month}(?:,? {day.year})?|{weekday}{month} {number}(?:,? {day.year})?|{day:%Y-%m-%d}"
        rf"|0?{day.day}\.0?{day.month}\.(?:{day.year})?"
    )
