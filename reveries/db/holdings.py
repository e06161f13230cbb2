"""Every table that holds text, with its five duties: the one list that a new table enters.

1. `forget` finds its text and erases it (db/queries/forget.sql): `words` names the columns;
2. an export contains it and an import reads it: `is_exported`;
3. the checksum in its row is verified: `checksum_of`;
4. triggers keep tainted rows tainted: `is_tainted`;
5. docs/explain/privacy.md names it: `privacy`.

tests/db/test_holdings.py compares it with schema.sql, its triggers and the page; tests/memory/forgetting plants a word
in each column.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class TextTable:
    """One table that holds text."""

    words: tuple[str, ...]
    """Columns that can hold text."""
    privacy: str
    """The words by which docs/explain/privacy.md names it."""
    checksum_of: tuple[str, ...] = ()
    """The columns that its checksum covers, in this order; empty: no checksum is verified."""
    is_tainted: bool = False
    """Whether its rows say that untrusted sources had an influence."""
    is_exported: bool = True
    erased: Literal["by its owner", "words", "row"] = "by its owner"
    """How `forget` erases it: by its own statements, or generically, only the text or the whole row."""


HOLDINGS: Final[Mapping[str, TextTable]] = {
    "conversations": TextTable(("source", "title", "folded_summary"), "what you said and what it answered"),
    "raw_experiences": TextTable(
        ("content", "metadata"), "what you said and what it answered", ("content",), is_tainted=True
    ),
    "turns": TextTable(
        ("speaker", "text"), "what you said and what it answered", ("speaker", "text"), is_tainted=True
    ),
    "episodes": TextTable(
        ("summary", "exemplars", "gap", "topics", "entities"), "episodes", ("summary",), is_tainted=True
    ),
    "self_model": TextTable(
        (
            "narrative", "values", "tendencies", "relationship", "strengths", "limitations", "current_focus",
            "unresolved_threads", "anticipations", "closed_threads", "past_facts", "days",
        ),
        "the self-model and its history",
    ),
    "self_model_history": TextTable(("reason", "before"), "the self-model and its history"),
    "gaps": TextTable(("significance",), "how long nobody spoke"),
    "monologue_state": TextTable(
        ("last_buffer", "last_context"), "the whole prompt of the thought that is under way"
    ),
    "monologue_log": TextTable(("text", "explanation", "occasion"), "its thoughts", ("text",), is_tainted=True),
    "asked_thoughts": TextTable(("about",), "what you asked it to think about"),
    "calendar_told": TextTable(("event_key",), "which events of the calendar it knows"),
    "owner_notes": TextTable(("text", "reason"), "notes to you", ("text",)),
    "circuit_breaker_events": TextTable(("explanation", "buffer_snapshot"), "what the breaker and the tripwire saw"),
    "tripwire_events": TextTable(("excerpt",), "what the breaker and the tripwire saw"),
    "consolidation_changes": TextTable(("change_set", "log"), "what each pass of sleep did"),
    "consolidation_pending": TextTable(("question", "answer"), "what sleep asks you"),
    "held_experiences": TextTable(("why",), "what sleep asks you"),
    "claims": TextTable(
        ("subject", "relation", "value", "quote", "speaker"), "claims", ("value", "quote"), is_tainted=True
    ),
    "claim_conflicts": TextTable(("reason",), "claims"),
    "provider_circuits": TextTable(("last_error",), "when a provider was out", is_exported=False),
    "deep_texts": TextTable(
        ("speaker", "text"), "what you said and what it answered", ("speaker", "text"), is_tainted=True
    ),
    "projects": TextTable(("name", "folder"), "your projects", erased="words"),
    "goals": TextTable(("text",), "your projects", ("text",), erased="words"),
    "orientation": TextTable(("content",), "your projects", ("content",), is_tainted=True, erased="words"),
    "tasks": TextTable(
        (
            "title", "description", "skill_area", "outcome", "audit", "failure", "held_because", "flagged_because",
            "files",
        ),
        "your projects",
        ("title", "description"),
        is_tainted=True,
        erased="words",
    ),
    "proposals": TextTable(
        ("title", "document", "source_line"), "your projects", ("title", "source_line"), is_tainted=True, erased="row"
    ),
    "decided_conflicts": TextTable(
        ("a_document", "a_text", "b_document", "b_text", "reason"), "your projects", ("a_text", "b_text"),
        is_tainted=True, erased="row",
    ),
    "wishes": TextTable(("title",), "your projects", ("title",), erased="row"),
    "drafts": TextTable(
        ("wish", "content", "doubts", "flagged_because"), "your projects", ("wish", "content"),
        is_tainted=True, erased="row",
    ),
    "questions": TextTable(
        ("question", "context", "context_tags", "answer", "payload"),
        "your projects",
        ("question", "context"),
        is_tainted=True,
        erased="words",
    ),
    "activities": TextTable(("details", "skill_area"), "your projects", erased="words"),
    "steps": TextTable(("arguments", "result", "path"), "your projects", is_tainted=True, erased="words"),
    "documents": TextTable(("path", "name"), "your projects", erased="words"),
    "pages": TextTable(
        ("label", "section", "text", "outline", "cross_references"), "the documents of your projects, page by page",
        ("text",), erased="words",
    ),
    "pointers": TextTable(
        ("title", "cross_references"), "the documents of your projects, page by page", erased="words"
    ),
    "citations": TextTable(("document", "page_label", "quote"), "what a reply cited", erased="row"),
    "chunks": TextTable(
        ("title", "content", "tags", "fell_because", "names", "lead"), "your projects", ("title", "content"),
        is_tainted=True, erased="row",
    ),
    "relations": TextTable(("context_tags",), "your projects", erased="words"),
    "coretrievals": TextTable(("query",), "your projects", erased="row"),
    "grants": TextTable(("name",), "your projects", erased="row"),
}  # fmt: skip

CHECKSUMMED: Final = {table: holding.checksum_of for table, holding in HOLDINGS.items() if holding.checksum_of}
"""Tables with checksums, and the columns that these cover."""
ERASED_BY_LIST: Final = {table: holding for table, holding in HOLDINGS.items() if holding.erased != "by its owner"}
"""Tables that `forget` erases generically."""
NOT_EXPORTED: Final = frozenset(table for table, holding in HOLDINGS.items() if not holding.is_exported)
