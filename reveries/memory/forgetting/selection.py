"""Selects what is to be erased: reads the rows of one moment, and decides from them what the owner chose or what came
back.

`read_rows` reads which row came of which and all texts at one moment; the rest is pure."""

import asyncio
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from reveries.db.database import Reader, Row
from reveries.errors import NotFoundError, UsageError
from reveries.memory.forgetting.listed_tables import ListedRows, find_listed_rows
from reveries.memory.forgetting.needles import Needle, Sieve, TextMatcher, marks_of, quotes_of, words_in
from reveries.memory.forgetting.plan import Chosen, ForgetPlan, Relations, cascade
from reveries.memory.forgetting.tombstones import Tombstones
from reveries.memory.model import Origin

_ITEM_CHARS = 200
_STRING = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"')
"""With what is escaped in it: a quotation mark that a person wrote ends none."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that would be erased, as it is shown before the owner agrees."""

    id: str
    kind: str
    at: float
    text: str


@dataclass(frozen=True, slots=True)
class RelatedRows:
    """Rows beside the graph that hold the words, by table; their texts are emptied, or the rows go."""

    ids: dict[str, tuple[object, ...]] = field(default_factory=dict)
    listed: ListedRows = field(default_factory=dict)
    """Of tables that memory knows by the list of holdings alone."""

    def of(self, table: str) -> tuple[object, ...]:
        return self.ids.get(table, ())


@dataclass(slots=True)
class Rows:
    """Every row that might go, read once."""

    turns: Sequence[Row]
    experiences: Sequence[Row]
    episodes: Sequence[Row]
    thoughts: Sequence[Row]
    notes: Sequence[Row]
    claims: Sequence[Row]
    relations: Relations

    @property
    def chosen_tables(self) -> dict[str, Sequence[Row]]:
        return {
            "turns": self.turns,
            "experiences": self.experiences,
            "thoughts": self.thoughts,
            "notes": self.notes,
            "claims": self.claims,
            "worded_episodes": self.episodes,
        }


async def read_rows(source: Reader) -> Rows:
    """All of them: a hundred thousand episodes take some seconds and a few hundred megabytes. Of one moment, where
    `source` is one."""
    turns, experiences = await source.rows("forget.turns"), await source.rows("forget.experiences")
    episodes, sources = await source.rows("forget.episodes"), await source.rows("forget.sources")
    thoughts, notes = await source.rows("forget.thoughts"), await source.rows("forget.notes")
    claims, conflicts = await source.rows("forget.claims"), await source.rows("forget.conflicts")
    made_of: dict[str, list[str]] = {row["id"]: [] for row in episodes}
    for row in sources:
        made_of[row["episode_id"]].append(row["experience_id"])
    relations = Relations(
        turn_experience={row["id"]: row["experience_id"] for row in turns},
        episode_sources=made_of,
        merged_into={row["id"]: row["merged_into"] for row in episodes if row["merged_into"] is not None},
        thought_experience={row["id"]: row["experience_id"] for row in thoughts},
        thought_recalled={row["id"]: json.loads(row["recalled"]) for row in thoughts},
        note_thought={row["id"]: row["thought_id"] for row in notes},
        claim_experience={row["id"]: row["experience_id"] for row in claims},
        conflict_claims={row["id"]: (row["earlier_id"], row["later_id"]) for row in conflicts},
    )
    return Rows(turns, experiences, episodes, thoughts, notes, claims, relations)


def select_holding(rows: Rows, holds: TextMatcher, until: float | None = None) -> Chosen:
    """What holds the words; of what happened until then, if a time is given."""
    found = {
        name: frozenset(row["id"] for row in table if (until is None or row["at"] <= until) and holds(row["text"]))
        for name, table in rows.chosen_tables.items()
    }
    return Chosen(**found)


def rows_within(rows: Rows, since: float, until: float) -> Chosen:
    """What was said, happened or was thought in a period."""

    def of(table: Sequence[Row]) -> frozenset[str]:
        return frozenset(row["id"] for row in table if since <= row["at"] < until)

    return Chosen(of(rows.experiences), of(rows.turns), of(rows.thoughts), of(rows.notes))


def find_by_prefix(rows: Rows, prefix: str) -> list[tuple[str, str]]:
    """Kind and id of what an id, or the beginning of one, stands for."""
    tables = {
        "episodes": rows.episodes,
        "turns": rows.turns,
        "experiences": rows.experiences,
        "thoughts": rows.thoughts,
        "notes": rows.notes,
    }
    every = [(kind, str(row["id"])) for kind, table in tables.items() for row in table]
    return [one for one in every if one[1] == prefix] or [one for one in every if one[1].startswith(prefix)]


def derived_traces(rows: Rows, plan: ForgetPlan) -> Needle:
    """How texts are known that were made from what goes though no row says so: a long quote of it, or a word that
    nobody but the mind itself uses elsewhere and that no list of ours knows."""
    foreign = [row for row in rows.turns if row["origin"] != Origin.SELF.value]
    thoughts = set(rows.relations.thought_experience.values())
    outside = [row for row in rows.experiences if row["kind"] == "external" and row["id"] not in thoughts]
    goes = [row["text"] for row in foreign if row["id"] in plan.turns]
    goes += [row["text"] for row in outside if row["id"] in plan.experiences]
    marks = marks_of(goes)
    marks -= _used_elsewhere(marks, (row["text"] for row in foreign if row["id"] not in plan.turns))
    marks -= _used_elsewhere(marks, (row["text"] for row in outside if row["id"] not in plan.experiences))
    return Needle(names=tuple(sorted(marks)), quotes=quotes_of(goes))


def _used_elsewhere(marks: set[str], texts: Iterable[str]) -> set[str]:
    """Those that the owner, or a document, used in other words too: they are not its alone."""
    found, sieve = set[str](), Sieve(marks)
    for text in texts:
        if len(found) == len(marks):
            break
        if sieve(text) and (more := marks.intersection(words_in(text)) - found):
            found |= more
            sieve = Sieve(marks - found)
    return found


_WORDED = {
    "gaps": "forget.gaps",
    "asked": "forget.asked",
    "held": "forget.held",
    "circuits": "forget.circuits",
    "told_events": "forget.told_events",
    "pending": "forget.pending",
    "conversations": "forget.conversations",
    "conflicts": "forget.conflicts",
}
_CUT = {"trips": "forget.trips", "tripwires": "forget.tripwires"}


async def read_asides(source: Reader, plan: ForgetPlan, holds: TextMatcher) -> RelatedRows:
    """What beside the graph holds the words, or was written while something that goes was said or thought."""
    found: dict[str, tuple[object, ...]] = {}
    for table, statement in _WORDED.items():
        rows = await source.rows(statement)
        found[table] = tuple(row["id"] for row in rows if holds(row["text"]))
    pending = await source.rows("forget.pending")
    found["pending"] += tuple(row["id"] for row in pending if row["experience_id"] in plan.experiences)
    named = {"ids": json.dumps(sorted(plan.turns))}
    folded = {row["id"] for row in await source.rows("forget.folded_over", named)}
    # Of a conversation that goes as a whole, its title and the file that it came from go too.
    emptied = {row["id"] for row in await source.rows("forget.emptied", named)}
    found["conversations"] = tuple(sorted({*found["conversations"], *emptied}))
    rows = await source.rows("forget.conversations")
    found["folded"] = tuple(row["id"] for row in rows if row["id"] in folded or holds(row["folded_summary"]))
    spans = await _time_spans(source, plan)
    for table, statement in _CUT.items():
        rows = await source.rows(statement)
        found[table] = tuple(row["id"] for row in rows if holds(row["text"]) or _is_in(row["at"], spans))
    passes = await source.rows("forget.passes")
    touched = plan.ids | plan.remade
    found["passes"] = await asyncio.to_thread(_passes, passes, touched, plan.experiences, holds)
    return RelatedRows(found, await find_listed_rows(source, holds))


_TRIP_SECONDS = 120.0
"""So long after the words were stored, a reply to them may have been cut."""


async def _time_spans(source: Reader, plan: ForgetPlan) -> list[tuple[float, float]]:
    named = {"ids": json.dumps(sorted(plan.turns))}
    said = [row["said_at"] for row in await source.rows("forget.turn_texts", named)]
    thoughts = [row for row in await source.rows("forget.thoughts") if row["id"] in plan.thoughts]
    return [(at, at + _TRIP_SECONDS) for at in said] + [(row["at"], row["ended_at"] + 1.0) for row in thoughts]


def _is_in(at: float, spans: Sequence[tuple[float, float]]) -> bool:
    return any(begin <= at <= end for begin, end in spans)


def _passes(
    rows: Sequence[Row], ids: frozenset[str], experiences: frozenset[str], holds: TextMatcher
) -> tuple[object, ...]:
    return tuple(
        row["id"]
        for row in rows
        if row["experience_id"] in experiences or not ids.isdisjoint(json_strings(row["text"])) or holds(row["text"])
    )


def json_strings(text: str) -> list[str]:
    """The strings of a text that begins with JSON, as they are written there: the ids of a change set, among others."""
    return _STRING.findall(text)


def items_of(rows: Rows, plan: ForgetPlan) -> list[Item]:
    """What goes, oldest first, as it is shown to the owner."""
    shown = (
        ("turn", rows.turns, plan.turns, "text"),
        ("thought", rows.thoughts, plan.thoughts, "text"),
        ("note", rows.notes, plan.notes, "text"),
        ("claim", rows.claims, plan.claims, "shown"),
        ("episode", rows.episodes, plan.touched, "shown"),
    )
    found = [
        Item(row["id"], kind, row["at"], row[column][:_ITEM_CHARS])
        for kind, table, ids, column in shown
        for row in table
        if row["id"] in ids
    ]
    thoughts_of = {row["experience_id"] for row in rows.thoughts}
    with_turns = {row["experience_id"] for row in rows.turns}
    found += [
        Item(row["id"], "experience", row["at"], row["text"][:_ITEM_CHARS])
        for row in rows.experiences
        if row["id"] in plan.experiences - thoughts_of - with_turns
    ]
    return sorted(found, key=lambda item: (item.at, item.kind, item.id))


BY_ID: Final = "id"
BY_WORDS: Final = "matching"
BY_NAME: Final = "about"
BY_TIME: Final = "time"
_SHORTEST_PREFIX = 4
_SHORTEST_WORDS = 2


@dataclass(frozen=True, slots=True)
class Selection:
    """What the owner chose: an id, words, a name, or a time (unix seconds)."""

    chosen_by: str
    text: str = ""
    since: float = float("-inf")
    until: float = float("inf")


@dataclass(slots=True)
class ForgetDecision:
    """The rows it was decided from, what goes of them, and how it is known elsewhere."""

    rows: Rows
    plan: ForgetPlan
    needle: TextMatcher
    beside: RelatedRows = field(default_factory=RelatedRows)


def decision_of(rows: Rows, selection: Selection) -> ForgetDecision:
    """Raises NotFoundError, UsageError."""
    match selection.chosen_by:
        case "matching" | "about":
            if len(selection.text.strip()) < _SHORTEST_WORDS:
                raise UsageError("That is too short to be looked for.", advice="Give at least two letters.")
            by_words = selection.chosen_by == BY_WORDS
            needle = Needle(words=(selection.text,)) if by_words else Needle(names=(selection.text,))
            return ForgetDecision(rows, cascade(select_holding(rows, needle), rows.relations), needle)
        case "time":
            chosen = rows_within(rows, selection.since, selection.until)
        case _:
            chosen = _by_id(rows, selection.text)
    needle = derived_traces(rows, cascade(chosen, rows.relations))
    chosen |= select_holding(rows, needle)
    return ForgetDecision(rows, cascade(chosen, rows.relations), needle)


def _by_id(rows: Rows, prefix: str) -> Chosen:
    found = find_by_prefix(rows, prefix) if len(prefix) >= _SHORTEST_PREFIX else []
    if len(found) != 1:
        many = f"{len(found)} things have an id that begins" if found else "Nothing has an id that begins"
        raise NotFoundError(f"{many} with {prefix}.", advice="Find one: reveries memory search WORDS")
    [(kind, name)] = found
    return Chosen(**{kind: frozenset({name})})


def decision_again(rows: Rows, stones: Tombstones, until: float) -> ForgetDecision:
    def ids(table: Sequence[Row]) -> frozenset[str]:
        return frozenset(row["id"] for row in table if stones.has_id(row["id"]))

    def spoken(row: Row) -> bool:
        return stones(str(row["text"]).partition(" ")[2]) or stones(row["text"])

    chosen = Chosen(
        experiences=ids(rows.experiences),
        turns=ids(rows.turns) | {row["id"] for row in rows.turns if row["at"] <= until and spoken(row)},
        thoughts=ids(rows.thoughts),
        notes=ids(rows.notes),
        claims=ids(rows.claims),
    )
    chosen |= select_holding(rows, stones, until)
    return ForgetDecision(rows, cascade(chosen, rows.relations), stones)
