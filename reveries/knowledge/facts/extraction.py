"""The facts of a document: what its lines say that has a value. Pure."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import islice, pairwise
from operator import attrgetter
from typing import Final, TypeVar

from reveries.knowledge.facts.called_off import SENTENCE_CHARS, Sentences, Wording, is_called_off
from reveries.knowledge.facts.clock_times import TimeMention, find_times
from reveries.knowledge.facts.day_patterns import MONTH_ALONE, MONTH_AND_YEAR
from reveries.knowledge.facts.days import (
    DateOrder,
    DayContext,
    DayMention,
    find_days,
    is_deadline,
    is_start,
)
from reveries.knowledge.facts.kroner import name_kroner
from reveries.knowledge.facts.lines import Line, read_lines
from reveries.knowledge.facts.model import Bound, Day, Fact, FactKind
from reveries.knowledge.facts.numbers import writes_decimal_comma
from reveries.knowledge.facts.open_ends import find_open_ends
from reveries.knowledge.facts.quantities import QuantityMention, find_quantities, main_currency, mask
from reveries.knowledge.facts.tables import read_table_facts
from reveries.knowledge.facts.vocabulary import VOCABULARY, alternation
from reveries.knowledge.facts.worded_quantities import find_worded_quantities

_SENTENCE_END: Final = re.compile(r"[.!?…](?=\s+[^\W\d_a-zà-ÿ]|\s*$)|;\s|\n\s*\n")
_NUMBER_LIKE: Final = re.compile(
    r"\+?\d[\d\s/()-]{6,}\d|\b(?:isbn|ismn|issn|iban|tel|telefon|phone|teléfono|ref|nr|no|nº|n°)\b\.?:?\s*[\w/.-]*\d[\w/.-]*(?:[\s-]\d+)*",
    re.IGNORECASE,
)
"""Telephone numbers, references, book numbers: figures that count nothing."""
_PLACE_NUMBER: Final = re.compile(
    r"\b(?:room|raum|zimmer|saal|hörsaal|salle|bureau|aula|sala|stanza|habitación|despacho|lokaal|kamer|zaal|rom|"
    r"klasserom|gate|gleis|platform|quai|flat|apartment|wohnung|chapter|kapitel|chapitre|capítulo|capitolo|hoofdstuk)"
    r"\s+(?:n[ro°º]\.?\s*)?\d++(?:[./-]\d++)*+\.?"
    rf"(?!\s?(?:%|{alternation((*VOCABULARY.currencies, *VOCABULARY.units, *VOCABULARY.duration_units))})(?!\w)|"
    rf"\s?(?:uhr|uur|[ap]\.?m)\b|[,:]\d|\s?[x×]|\s+{alternation(VOCABULARY.months)}(?!\w))",
    re.IGNORECASE,
)
"""The number of a room or a chapter: "Raum 3.12." is no day."""
_CONTEXT_LINES: Final = 12
"""How many lines a month is still spoken of, for a day that is only a number."""
_FULL_LINE_CHARS: Final = 55
"""A line that was broken to fit is at least so long."""
_EDGE_CHARS: Final = 4
"""A number that ends a line is looked for so far before its end."""
_REACH_CHARS: Final = 60
"""A time of day belongs to the day that stands at most this far from it in the sentence."""

_Mention = TypeVar("_Mention", DayMention, TimeMention, QuantityMention)


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines without an empty one between them: a sentence may go on over their ends."""

    lines: Sequence[Line]
    text: str
    starts: Sequence[int]
    """Where each line begins in `text`."""

    def place(self, offset: int) -> tuple[Line, int]:
        """Return the line at `offset` of the block, and the offset within it."""
        index = bisect_right(self.starts, offset) - 1
        return self.lines[index], offset - self.starts[index]


def extract_facts(document: str, text: str, default_day: date, *, currency: str = "") -> list[Fact]:
    """Return the facts of a document, in the order of its lines. `default_day`: when it was written if nothing in it
    says so; `currency`: that of the whole project, for sums that name none."""
    lines = read_lines(document, text, default_day)
    order, is_comma_decimal = DateOrder.of(text), writes_decimal_comma(text)
    project_currency, currency = currency, main_currency(text) or currency
    facts = list(read_table_facts(document, lines, order, is_comma_decimal, currency))
    in_tables = {fact.line for fact in facts}
    context = DayContext(_named_days(lines, order), dated=_dated_days(lines, order))
    reading = _DocumentReading(document, order, is_comma_decimal, currency, context, _headed_months(lines))
    for block in _blocks(line for line in lines if line.number not in in_tables):
        facts += reading.read(block)
    facts += [
        Fact(FactKind.OPEN, line.text, document, line.number, written_on=line.written_on)
        for line in find_open_ends(lines)
    ]
    later = {
        fact.line
        for fact in facts
        if fact.day and fact.day.bound is Bound.FROM and fact.written_on and fact.day.first > fact.written_on
    }
    facts = [replace(fact, starts_later=True) if fact.line in later else fact for fact in facts]
    facts = list(name_kroner(facts, text, project_currency))
    return sorted(_without_repetitions(facts), key=lambda fact: (fact.line, fact.start))


def _without_repetitions(facts: Sequence[Fact]) -> Iterator[Fact]:
    seen: set[tuple[FactKind, int, str, str | None]] = set()
    for fact in facts:
        key = (fact.kind, fact.line, fact.value, fact.unit)
        if key not in seen:
            seen.add(key)
            yield fact


def _blocks(lines: Iterator[Line]) -> Iterator[_Block]:
    """Join lines; a chat message, a heading, a table's row and an item of a list each begin a block of their own."""
    gathered: list[Line] = []
    for line in lines:
        begins_anew = (
            line.stamped_at or line.is_date_line or re.match(r"\s*(?:>\s*)*(?:[-*+•#|]|\[|\d{1,3}[.)]\s)", line.raw)
        )
        if gathered and (begins_anew or not line.raw.strip() or line.written_on != gathered[-1].written_on):
            yield _join(gathered)
            gathered = []
        if line.raw.strip():
            gathered.append(line)
    if gathered:
        yield _join(gathered)


def _join(lines: list[Line]) -> _Block:
    texts = [mask(line.raw, [(0, line.stamp_end)]) for line in lines]
    starts, offset = [], 0
    for text in texts:
        starts.append(offset)
        offset += len(text) + 1
    return _Block(tuple(lines), "\n".join(texts), starts)


@dataclass(slots=True)
class _DocumentReading:
    """Reads one document, block by block."""

    document: str
    order: DateOrder
    is_comma_decimal: bool | None
    currency: str
    context: DayContext
    months: Mapping[int, Sequence[date]]
    """Line -> the months that its heading may mean."""
    recent: date | None = None
    recent_line: int = 0

    def read(self, block: _Block) -> Iterator[Fact]:
        """Return the days, times and quantities of a block."""
        numbers = (match for match in _NUMBER_LIKE.finditer(block.text) if not _holds_date(match, self.order))
        places = _PLACE_NUMBER.finditer(block.text)
        text = mask(block.text, [match.span() for match in (*numbers, *places)])
        parts = _parts_of(text)
        worded = _find_in_parts(parts, text, find_worded_quantities)
        yield from self._quantity_facts(block, worded)
        text = mask(text, [(mention.start, mention.end) for mention in worded])
        days = self._find_days(block, parts, text)
        self._remember(block, days)
        undated = mask(text, [(day.start, day.end) for day in days])
        times = _find_in_parts(parts, undated, find_times)
        free = set(times)
        # The point of "8. Dezember" ends no sentence.
        in_days = {at for day in days for at in range(day.start + 1, day.end)}
        ends, whole_ends = (
            [end for end in _sentence_ends(words) if end not in in_days] for words in (text, block.text)
        )
        wording = Wording(block.text)
        for mention in days:
            sentence = _sentence_around(ends, len(text), mention.start, mention.end)
            of_day = _times_of(mention, sentence, days, times)
            free -= set(of_day)
            if (fact := _day_fact(self.document, block, wording, mention, days, whole_ends)) is not None:
                yield from _at_hours(fact, block, of_day)
        for time in sorted(free, key=lambda mention: mention.start):
            yield replace(_fact_at(self.document, block, FactKind.TIME, time.start, time.end), time=time.time)
        text = mask(undated, [(time.start, time.end) for time in times])
        yield from self._quantity_facts(block, _find_in_parts(parts, text, self._find_quantities))

    def _find_days(self, block: _Block, parts: Sequence[tuple[int, int]], text: str) -> list[DayMention]:
        """Return the days of a block; a day that is only a number takes the month that was spoken of before it."""
        days: list[DayMention] = []
        context = self._context(block)
        for part in parts:
            written_out = [day for day in days if day.is_written_out]
            of_part = replace(context, recent=written_out[-1].last) if written_out else context

            def find(words: str, context: DayContext = of_part) -> list[DayMention]:
                return find_days(words, block.lines[0].written_on, self.order, context)

            days += _find_in_parts([part], text, find)
        return days

    def _find_quantities(self, text: str) -> list[QuantityMention]:
        return find_quantities(text, is_comma_decimal=self.is_comma_decimal, currency=self.currency)

    def _quantity_facts(self, block: _Block, mentions: Sequence[QuantityMention]) -> Iterator[Fact]:
        for mention in mentions:
            kind = FactKind.AMOUNT if mention.quantity.dimension == "money" else FactKind.MEASURE
            yield replace(_fact_at(self.document, block, kind, mention.start, mention.end), quantity=mention.quantity)

    def _context(self, block: _Block) -> DayContext:
        is_near = block.lines[0].number - self.recent_line <= _CONTEXT_LINES
        months = self.months.get(block.lines[-1].number, ())
        return replace(self.context, recent=self.recent if is_near else None, months=months)

    def _remember(self, block: _Block, days: Sequence[DayMention]) -> None:
        ahead = [day for day in days if day.is_written_out and day.last >= block.lines[0].written_on]
        if ahead:
            self.recent, self.recent_line = ahead[-1].last, block.lines[-1].number


def _parts_of(text: str) -> list[tuple[int, int]]:
    """Return where the parts of a block begin and end over which a value may reach: no value goes on in the next line
    unless a writer broke it there to fit."""
    longest = sorted(text.split("\n"), key=len, reverse=True)
    cuts = [at for at in _line_ends(text) if not _value_goes_on(text, at) and not _goes_on(text, at, longest)]
    return list(pairwise([0, *(cut + 1 for cut in cuts), len(text)]))


def _line_ends(text: str) -> Iterator[int]:
    return (match.start() for match in re.finditer(r"\n", text))


def _value_goes_on(text: str, at: int) -> bool:
    """Whether a number ends a line and a word in small letters, which may be its unit or month, begins the next."""
    return re.search(r"\d\.?\s*$", text[max(0, at - _EDGE_CHARS) : at]) is not None and text[at + 1 : at + 2].islower()


def _find_in_parts(
    parts: Sequence[tuple[int, int]], text: str, find: Callable[[str], Sequence[_Mention]]
) -> list[_Mention]:
    """Return what `find` finds in each part of `text`, at its place in the whole."""
    return [
        replace(mention, start=mention.start + begin, end=mention.end + begin)
        for begin, end in parts
        for mention in find(text[begin:end])
    ]


def _named_days(lines: Sequence[Line], order: DateOrder) -> frozenset[date]:
    """Return the days that a document writes out, for those that it later names by their number alone."""
    mentions = (mention for line in lines for mention in find_days(line.raw[line.stamp_end :], line.written_on, order))
    return frozenset(mention.first for mention in mentions if mention.is_written_out)


def _dated_days(lines: Sequence[Line], order: DateOrder) -> frozenset[date]:
    """Return the days ahead that a document writes with their year, and the middle of such months."""
    days: set[date] = set()
    for line in lines:
        text = line.raw[line.stamp_end :]
        mentions = find_days(text, line.written_on, order)
        days.update(mention.first for mention in mentions if mention.is_dated)
        days.update(
            date(int(match["year"]), VOCABULARY.months[match["month"].casefold()], 15)
            for match in MONTH_AND_YEAR.finditer(text)
        )
    return frozenset(day for day in days if day > lines[0].written_on)


def _headed_months(lines: Sequence[Line]) -> Mapping[int, Sequence[date]]:
    """Return for each line below a heading that names a month the first of that month; of several years without one."""
    months: dict[int, Sequence[date]] = {}
    current: Sequence[date] = ()
    for line in lines:
        if match := MONTH_ALONE.fullmatch(line.raw):
            month, near = VOCABULARY.months[match["month"].casefold()], line.written_on.year
            years = [int(match["year"])] if match["year"] else [near - 1, near, near + 1]
            current = [date(year, month, 1) for year in years]
        elif line.raw.lstrip().startswith("#"):
            current = ()
        months[line.number] = current
    return months


def _holds_date(match: re.Match[str], order: DateOrder) -> bool:
    return (
        bool(find_days(match.group(), date(2000, 1, 1), order))
        or re.search(r"\d[.,]\d\d(?!\d)", match.group()) is not None
    )


def _fact_at(document: str, block: _Block, kind: FactKind, start: int, end: int) -> Fact:
    line, offset = block.place(start)
    return Fact(kind, line.text, document, line.number, offset, offset + end - start, written_on=line.written_on)


def _day_fact(
    document: str,
    block: _Block,
    wording: Wording,
    mention: DayMention,
    days: Sequence[DayMention],
    ends: Sequence[int],
) -> Fact | None:
    """Return the fact of one of the `days` of a block; None for the day that only says when the rest was written.
    `wording`: of the block; `ends`: of the sentences."""
    fact = _fact_at(document, block, FactKind.DATE, mention.start, mention.end)
    line, _ = block.place(mention.start)
    # What is said of today or yesterday is past by the time that anybody looks.
    is_over = not mention.is_written_out and mention.last <= line.written_on
    if line.is_date_line or is_over:
        return None
    # Where a date goes on over the end of a line, it belongs to the line that it ends in.
    if "\n" in block.text[mention.start : mention.end]:
        fact = replace(fact, end=len(line.raw))
    bound = Bound.ON
    if is_deadline(block.text, mention.start):
        bound = Bound.BY
    elif is_start(block.text, mention.start):
        bound = Bound.FROM
    is_cancelled = is_called_off(wording, mention, days, _sentences_at(block.text, mention, ends))
    day = Day(mention.first, mention.last, "", bound, is_cancelled)
    return replace(fact, day=day)


def _sentence_ends(text: str) -> list[int]:
    """Return where sentences end, in their order."""
    longest = sorted(text.split("\n"), key=len, reverse=True)
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    ends += [at + 1 for at in _line_ends(text) if not _goes_on(text, at, longest)]
    return sorted(ends)


def _sentence_around(ends: Sequence[int], length: int, start: int, end: int) -> tuple[int, int]:
    """Return where the sentence around `start` to `end` begins and ends, in a text of `length`."""
    before, behind = bisect_right(ends, start), bisect_left(ends, end)
    return ends[before - 1] if before else 0, ends[behind] if behind < len(ends) else length


def _sentences_at(text: str, mention: DayMention, ends: Sequence[int]) -> Sentences:
    """Return the bounds of the sentence around a day, and where the one behind it ends."""
    begin, end = _sentence_around(ends, len(text), mention.start, mention.end)
    behind = _sentence_around(ends, len(text), end, end + 1)[1]
    return Sentences(max(begin, mention.start - SENTENCE_CHARS), min(end, mention.end + SENTENCE_CHARS), end, behind)


def _goes_on(text: str, at: int, longest: Sequence[str]) -> bool:
    """Whether the sentence of the line that ends at `at` goes on in the next: the line breaks off at a small word or
    a comma, or it is full and the next begins small, or fills as much as this one."""
    line = text[text.rfind("\n", 0, at) + 1 : at].rstrip(" \x00")
    following = text[at + 1 : at + SENTENCE_CHARS].lstrip(" >\x00").partition("\n")[0]
    last_word = re.search(r"([^\W\d_]+)$", line)
    if last_word is not None and last_word[1].casefold() in VOCABULARY.stop_words:
        return True
    if len(line) <= _FULL_LINE_CHARS:
        return False
    # Who writes everything small begins sentences so, too.
    begins_small = following[:1].islower() and re.match(r"\W*[a-zß-öø-ÿ]", text) is None
    return line.endswith(",") or begins_small or _is_full_at(longest, line, following)


def _is_full_at(longest: Sequence[str], line: str, following: str) -> bool:
    """Whether the first word of the following line did not fit behind `line` any more, as another line shows."""
    fitting = next((len(other) for other in longest if other.rstrip() != line), 0)
    return fitting > _FULL_LINE_CHARS and len(line) + 1 + len(following.partition(" ")[0]) > fitting


def _times_of(
    mention: DayMention, sentence: tuple[int, int], days: Sequence[DayMention], times: Sequence[TimeMention]
) -> Sequence[TimeMention]:
    """Return the times of day that belong to a day: those behind it in its sentence, else the one before."""
    if mention.first != mention.last:
        return ()
    first, last = sentence
    by_start = attrgetter("start")
    place = bisect_left(days, mention.end, key=by_start)
    next_day = days[place].start if place < len(days) else last
    behind: list[TimeMention] = []
    for time in islice(times, bisect_left(times, mention.end, key=by_start), None):
        if time.start >= min(last, next_day, (behind[-1].end if behind else mention.end) + _REACH_CHARS):
            break
        behind.append(time)
    place = bisect_left(times, mention.start, key=by_start)
    is_before = place > 0 and times[place - 1].start >= max(first, mention.start - _REACH_CHARS)
    return behind or (times[place - 1 : place] if is_before else ())


def _at_hours(fact: Fact, block: _Block, times: Sequence[TimeMention]) -> Iterator[Fact]:
    """Yield the fact of a day once for each of its hours; behind the first each stands where its hour does."""
    assert fact.day is not None
    yield replace(fact, day=replace(fact.day, time=times[0].time)) if times else fact
    for time in times[1:]:
        at = _fact_at(fact.document, block, FactKind.DATE, time.start, time.end)
        yield replace(at, day=replace(fact.day, time=time.time))
