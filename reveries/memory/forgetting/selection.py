"""Selects what to erase: decides from a consistent read of all rows what the owner selected, or what an old copy
brought back. Apart from the `read_*` functions everything is pure."""

import asyncio
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from reveries.db.database import Reader, Row
from reveries.errors import NotFoundError, UsageError
from reveries.memory.forgetting.listed_tables import ListedRows, find_listed_rows
from reveries.memory.forgetting.needles import Needle, Sieve, TextMatcher, distinctive_words, quote_runs, words_in
from reveries.memory.forgetting.plan import ChosenRows, ForgetPlan, Relations, cascade
from reveries.memory.forgetting.tombstones import Tombstones
from reveries.memory.model import Origin

_ITEM_CHARS = 200
_STRING = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"')
"""A JSON string, including escaped quotation marks."""


@dataclass(frozen=True, slots=True)
class ForgetItem:
    """One item to be forgotten, as shown to the owner for confirmation."""

    id: str
    kind: str
    at: float
    text: str


@dataclass(frozen=True, slots=True)
class RelatedRows:
    """Rows outside the graph that contain the words, by table; their texts are emptied, or the rows deleted."""

    ids: dict[str, tuple[object, ...]] = field(default_factory=dict)
    listed: ListedRows = field(default_factory=dict)
    """Rows of tables that memory knows only by the list of holdings."""

    def of(self, table: str) -> tuple[object, ...]:
        return self.ids.get(table, ())


@dataclass(slots=True)
class Rows:
    """Every row that might be erased, read once."""

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
    """Read all rows. A hundred thousand episodes take some seconds and a few hundred megabytes."""
    turns, experiences = await source.rows("forget.turns"), await source.rows("forget.experiences")
    episodes, sources = await source.rows("forget.episodes"), await source.rows("forget.sources")
    thoughts, notes = await source.rows("forget.thoughts"), await source.rows("forget.notes")
    claims, conflicts = await source.rows("forget.claims"), await source.rows("forget.conflicts")
    episode_sources: dict[str, list[str]] = {row["id"]: [] for row in episodes}
    for row in sources:
        episode_sources[row["episode_id"]].append(row["experience_id"])
    relations = Relations(
        turn_experience={row["id"]: row["experience_id"] for row in turns},
        episode_sources=episode_sources,
        merged_into={row["id"]: row["merged_into"] for row in episodes if row["merged_into"] is not None},
        thought_experience={row["id"]: row["experience_id"] for row in thoughts},
        thought_recalled={row["id"]: json.loads(row["recalled"]) for row in thoughts},
        note_thought={row["id"]: row["thought_id"] for row in notes},
        claim_experience={row["id"]: row["experience_id"] for row in claims},
        conflict_claims={row["id"]: (row["earlier_id"], row["later_id"]) for row in conflicts},
    )
    return Rows(turns, experiences, episodes, thoughts, notes, claims, relations)


def select_matching(rows: Rows, matches: TextMatcher, until: float | None = None) -> ChosenRows:
    """Select the rows that contain the words; with `until`, only those up to that time."""
    ids = {
        name: frozenset(row["id"] for row in table if (until is None or row["at"] <= until) and matches(row["text"]))
        for name, table in rows.chosen_tables.items()
    }
    return ChosenRows(**ids)


def select_period(rows: Rows, since: float, until: float) -> ChosenRows:
    """Select the rows of a period."""

    def of(table: Sequence[Row]) -> frozenset[str]:
        return frozenset(row["id"] for row in table if since <= row["at"] < until)

    return ChosenRows(of(rows.experiences), of(rows.turns), of(rows.thoughts), of(rows.notes))


def find_by_prefix(rows: Rows, prefix: str) -> list[tuple[str, str]]:
    """Return kind and id of every row with this id, or if there is none, of every row whose id begins with it."""
    tables = {
        "episodes": rows.episodes,
        "turns": rows.turns,
        "experiences": rows.experiences,
        "thoughts": rows.thoughts,
        "notes": rows.notes,
    }
    entries = [(kind, str(row["id"])) for kind, table in tables.items() for row in table]
    return [entry for entry in entries if entry[1] == prefix] or [e for e in entries if e[1].startswith(prefix)]


def build_trace_needle(rows: Rows, plan: ForgetPlan) -> Needle:
    """Build a matcher for texts that were derived from the erased ones without any row saying so: they contain a long
    quote, or an uncommon word that only the erased texts and the mind's own words use."""
    by_others = [row for row in rows.turns if row["origin"] != Origin.SELF.value]
    thoughts = set(rows.relations.thought_experience.values())
    external = [row for row in rows.experiences if row["kind"] == "external" and row["id"] not in thoughts]
    erased_texts = [row["text"] for row in by_others if row["id"] in plan.turns]
    erased_texts += [row["text"] for row in external if row["id"] in plan.experiences]
    words = distinctive_words(erased_texts)
    words -= _used_elsewhere(words, (row["text"] for row in by_others if row["id"] not in plan.turns))
    words -= _used_elsewhere(words, (row["text"] for row in external if row["id"] not in plan.experiences))
    return Needle(names=tuple(sorted(words)), quotes=quote_runs(erased_texts))


def _used_elsewhere(words: set[str], texts: Iterable[str]) -> set[str]:
    """Return the words that also occur in these other texts of the owner or of documents."""
    used, sieve = set[str](), Sieve(words)
    for text in texts:
        if len(used) == len(words):
            break
        if sieve(text) and (more := words.intersection(words_in(text)) - used):
            used |= more
            sieve = Sieve(words - used)
    return used


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
_TIMED = {"trips": "forget.trips", "tripwires": "forget.tripwires"}


async def read_related_rows(source: Reader, plan: ForgetPlan, matches: TextMatcher) -> RelatedRows:
    """Find the rows outside the graph that contain the words, or were written while an erased turn was answered or an
    erased thought ran."""
    ids: dict[str, tuple[object, ...]] = {}
    for table, statement in _WORDED.items():
        rows = await source.rows(statement)
        ids[table] = tuple(row["id"] for row in rows if matches(row["text"]))
    pending = await source.rows("forget.pending")
    ids["pending"] += tuple(
        row["id"]
        for row in pending
        if row["experience_id"] in plan.experiences or not plan.experiences.isdisjoint(json_strings(row["text"]))
    )
    named = {"ids": json.dumps(sorted(plan.turns))}
    folded = {row["id"] for row in await source.rows("forget.folded_over", named)}
    # A conversation that is erased as a whole loses its title and its file name too.
    emptied = {row["id"] for row in await source.rows("forget.emptied", named)}
    ids["conversations"] = tuple(sorted({*ids["conversations"], *emptied}))
    rows = await source.rows("forget.conversations")
    ids["folded"] = tuple(row["id"] for row in rows if row["id"] in folded or matches(row["folded_summary"]))
    spans = await _time_spans(source, plan)
    for table, statement in _TIMED.items():
        rows = await source.rows(statement)
        ids[table] = tuple(row["id"] for row in rows if matches(row["text"]) or _is_within(row["at"], spans))
    passes = await source.rows("forget.passes")
    ids["passes"] = await asyncio.to_thread(_select_passes, passes, plan.ids | plan.rebuilt, plan.experiences, matches)
    return RelatedRows(ids, await find_listed_rows(source, matches))


_TRIP_SECONDS = 120.0
"""Time after a turn within which a breaker trip may concern the reply to it."""


async def _time_spans(source: Reader, plan: ForgetPlan) -> list[tuple[float, float]]:
    named = {"ids": json.dumps(sorted(plan.turns))}
    turn_times = [row["said_at"] for row in await source.rows("forget.turn_texts", named)]
    thoughts = [row for row in await source.rows("forget.thoughts") if row["id"] in plan.thoughts]
    return [(at, at + _TRIP_SECONDS) for at in turn_times] + [(row["at"], row["ended_at"] + 1.0) for row in thoughts]


def _is_within(at: float, spans: Sequence[tuple[float, float]]) -> bool:
    return any(begin <= at <= end for begin, end in spans)


def _select_passes(
    rows: Sequence[Row], ids: frozenset[str], experiences: frozenset[str], matches: TextMatcher
) -> tuple[object, ...]:
    return tuple(
        row["id"]
        for row in rows
        if row["experience_id"] in experiences or not ids.isdisjoint(json_strings(row["text"])) or matches(row["text"])
    )


def json_strings(text: str) -> list[str]:
    """Return the strings in a JSON text, still escaped (the ids of a change set, among others)."""
    return _STRING.findall(text)


def list_items(rows: Rows, plan: ForgetPlan) -> list[ForgetItem]:
    """List what is to be forgotten, oldest first, to show to the owner."""
    shown = (
        ("turn", rows.turns, plan.turns, "text"),
        ("thought", rows.thoughts, plan.thoughts, "text"),
        ("note", rows.notes, plan.notes, "text"),
        ("claim", rows.claims, plan.claims, "shown"),
        ("episode", rows.episodes, plan.touched, "shown"),
    )
    items = [
        ForgetItem(row["id"], kind, row["at"], row[column][:_ITEM_CHARS])
        for kind, table, ids, column in shown
        for row in table
        if row["id"] in ids
    ]
    thoughts_of = {row["experience_id"] for row in rows.thoughts}
    with_turns = {row["experience_id"] for row in rows.turns}
    items += [
        ForgetItem(row["id"], "experience", row["at"], row["text"][:_ITEM_CHARS])
        for row in rows.experiences
        if row["id"] in plan.experiences - thoughts_of - with_turns
    ]
    return sorted(items, key=lambda item: (item.at, item.kind, item.id))


BY_ID: Final = "id"
BY_WORDS: Final = "matching"
BY_NAME: Final = "about"
BY_TIME: Final = "time"
BY_DOCUMENT: Final = "document"
_SHORTEST_PREFIX = 4
_SHORTEST_WORDS = 2
_SHORTEST_FILE_NAME = 6
_MOST_QUOTED_CHARS = 2_000_000
"""Of a longer document only the pages that a reply cited are looked for in what was derived: every run of its words
would take gigabytes."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The owner's selection: an id, words, a name, a period (unix seconds), or a document of a project by its id."""

    chosen_by: str
    text: str = ""
    since: float = float("-inf")
    until: float = float("inf")


@dataclass(slots=True)
class ForgetDecision:
    """The rows, the plan decided from them, and the matcher for traces elsewhere."""

    rows: Rows
    plan: ForgetPlan
    needle: TextMatcher
    related: RelatedRows = field(default_factory=RelatedRows)


def decide_selection(rows: Rows, selection: Selection) -> ForgetDecision:
    """Decide what the owner's selection erases. Raises NotFoundError, UsageError."""
    match selection.chosen_by:
        case "matching" | "about":
            if len(selection.text.strip()) < _SHORTEST_WORDS:
                raise UsageError("That is too short to search for.", advice="Give at least two letters.")
            by_words = selection.chosen_by == BY_WORDS
            needle = Needle(words=(selection.text,)) if by_words else Needle(names=(selection.text,))
            return ForgetDecision(rows, cascade(select_matching(rows, needle), rows.relations), needle)
        case "time":
            chosen = select_period(rows, selection.since, selection.until)
        case _:
            chosen = _select_id(rows, selection.text)
    needle = build_trace_needle(rows, cascade(chosen, rows.relations))
    chosen |= select_matching(rows, needle)
    return ForgetDecision(rows, cascade(chosen, rows.relations), needle)


async def decide_document(source: Reader, rows: Rows, document_id: str) -> ForgetDecision:
    """Decide what erasing a document erases: the turns that cite it, and whatever quotes it or names its file. Raises
    NotFoundError."""
    named = {"id": document_id}
    texts, size = list[str](), 0
    for row in await source.rows("forget.document_texts", named):
        size += len(row["text"])
        if size > _MOST_QUOTED_CHARS and not row["is_cited"]:
            continue
        texts.append(str(row["text"]))
    names = [str(row["name"]) for row in await source.rows("forget.document_names", named)]
    if not names:
        raise NotFoundError("There is no such document.", advice="See: reveries document list")
    words = tuple(name for name in names if len(name) >= _SHORTEST_FILE_NAME and "." in name)
    citing = frozenset(str(row["turn_id"]) for row in await source.rows("forget.turns_citing", named))
    needle = await asyncio.to_thread(lambda: Needle(words=words, quotes=quote_runs(texts)))
    chosen = ChosenRows(turns=citing) | await asyncio.to_thread(select_matching, rows, needle)
    return ForgetDecision(rows, cascade(chosen, rows.relations), needle)


async def find_erased_documents(source: Reader, tombstones: Tombstones) -> tuple[str, ...]:
    """Return the ids of documents that were erased, and that an old copy brought back."""
    return tuple(str(row["id"]) for row in await source.rows("forget.documents") if tombstones.has_id(str(row["id"])))


def _select_id(rows: Rows, prefix: str) -> ChosenRows:
    candidates = find_by_prefix(rows, prefix) if len(prefix) >= _SHORTEST_PREFIX else []
    if len(candidates) != 1:
        many = f"{len(candidates)} things have an id that begins" if candidates else "Nothing has an id that begins"
        raise NotFoundError(f"{many} with {prefix}.", advice="Find one: reveries memory search WORDS")
    [(kind, name)] = candidates
    return ChosenRows(**{kind: frozenset({name})})


def decide_repetition(rows: Rows, tombstones: Tombstones, until: float) -> ForgetDecision:
    """Decide what to erase again from rows up to `until`, by the tombstones of earlier erasures."""

    def ids(table: Sequence[Row]) -> frozenset[str]:
        return frozenset(row["id"] for row in table if tombstones.has_id(row["id"]))

    def is_erased_turn(row: Row) -> bool:
        return tombstones(str(row["text"]).partition(" ")[2]) or tombstones(row["text"])

    chosen = ChosenRows(
        experiences=ids(rows.experiences),
        turns=ids(rows.turns) | {row["id"] for row in rows.turns if row["at"] <= until and is_erased_turn(row)},
        thoughts=ids(rows.thoughts),
        notes=ids(rows.notes),
        claims=ids(rows.claims),
    )
    chosen |= select_matching(rows, tombstones, until)
    return ForgetDecision(rows, cascade(chosen, rows.relations), tombstones)
