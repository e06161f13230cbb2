"""Every table that holds words, with its five duties: the one list that a new table enters.

1. `forget` finds its words and erases them (db/queries/forget.sql): `words` names the columns;
2. an export carries it and an import takes it in: `is_exported`;
3. the checksum that stands in its row is compared: `checksum_of`;
4. triggers keep what is tainted tainted: `is_tainted`;
5. docs/explain/privacy.md names it: `privacy`.

tests/db/test_holdings.py compares it with schema.sql, its triggers and the page; tests/memory/forgetting plants a word
in each column.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class Holding:
    """One table."""

    words: tuple[str, ...]
    """Columns in which words can stand."""
    privacy: str
    """By which words docs/explain/privacy.md names it."""
    checksum_of: tuple[str, ...] = ()
    """What its checksum is of, in this order; empty: its rows carry none that is compared."""
    is_tainted: bool = False
    """Whether its rows say that others than the owner and the mind had a hand in them."""
    is_exported: bool = True
    erased: Literal["by its owner", "words", "row"] = "by its owner"
    """How `forget` erases it: by statements of its own; or as any table of this list, the words alone or the row."""


HOLDINGS: Final[Mapping[str, Holding]] = {
    "conversations": Holding(("source", "title", "folded_summary"), "what you said and what it answered"),
    "raw_experiences": Holding(
        ("content", "metadata"), "what you said and what it answered", ("content",), is_tainted=True
    ),
    "turns": Holding(
        ("speaker", "text"), "what you said and what it answered", ("speaker", "text"), is_tainted=True
    ),
    "episodes": Holding(
        ("summary", "exemplars", "gap", "topics", "entities"), "episodes", ("summary",), is_tainted=True
    ),
    "self_model": Holding(
        (
            "narrative", "values", "tendencies", "relationship", "strengths", "limitations", "current_focus",
            "unresolved_threads", "anticipations",
        ),
        "the self-model and its history",
    ),
    "self_model_history": Holding(("reason", "before"), "the self-model and its history"),
    "gaps": Holding(("significance",), "how long nobody spoke"),
    "monologue_state": Holding(
        ("last_buffer", "last_context"), "the whole prompt of the thought that is under way"
    ),
    "monologue_log": Holding(("text", "explanation", "occasion"), "its thoughts", ("text",), is_tainted=True),
    "asked_thoughts": Holding(("about",), "what you asked it to think about"),
    "calendar_told": Holding(("event_key",), "which events of the calendar it knows"),
    "owner_notes": Holding(("text", "reason"), "notes to you", ("text",)),
    "circuit_breaker_events": Holding(("explanation", "buffer_snapshot"), "what the breaker and the tripwire saw"),
    "tripwire_events": Holding(("excerpt",), "what the breaker and the tripwire saw"),
    "consolidation_changes": Holding(("change_set", "log"), "what each pass of sleep did"),
    "consolidation_pending": Holding(("question", "answer"), "what sleep asks you"),
    "held_experiences": Holding(("why",), "what sleep asks you"),
    "claims": Holding(
        ("subject", "relation", "value", "quote", "speaker"), "claims", ("value", "quote"), is_tainted=True
    ),
    "claim_conflicts": Holding(("reason",), "claims"),
    "provider_circuits": Holding(("last_error",), "when a provider was out", is_exported=False),
    "deep_texts": Holding(
        ("speaker", "text"), "what you said and what it answered", ("speaker", "text"), is_tainted=True
    ),
    "projects": Holding(("name", "folder"), "your projects", erased="words"),
    "goals": Holding(("text",), "your projects", ("text",), erased="words"),
    "orientation": Holding(("content",), "your projects", ("content",), is_tainted=True, erased="words"),
    "tasks": Holding(
        ("title", "description", "skill_area", "outcome", "audit", "failure", "held_because", "flagged_because"),
        "your projects",
        ("title", "description"),
        is_tainted=True,
        erased="words",
    ),
    "questions": Holding(
        ("question", "context", "context_tags", "answer", "payload"),
        "your projects",
        ("question", "context"),
        is_tainted=True,
        erased="words",
    ),
    "activities": Holding(("details", "skill_area"), "your projects", erased="words"),
    "steps": Holding(("arguments", "result", "path"), "your projects", is_tainted=True, erased="words"),
    "chunks": Holding(
        ("title", "content", "tags", "fell_because", "names"), "your projects", ("title", "content"),
        is_tainted=True, erased="row",
    ),
    "relations": Holding(("context_tags",), "your projects", erased="words"),
    "coretrievals": Holding(("query",), "your projects", erased="row"),
    "grants": Holding(("name",), "your projects", erased="row"),
}  # fmt: skip

CHECKSUMMED: Final = {table: one.checksum_of for table, one in HOLDINGS.items() if one.checksum_of}
"""Rows of text, and what their checksum is of."""
ERASED_BY_LIST: Final = {table: one for table, one in HOLDINGS.items() if one.erased != "by its owner"}
"""Tables that `forget` erases without knowing whose they are."""
NOT_EXPORTED: Final = frozenset(table for table, one in HOLDINGS.items() if not one.is_exported)
