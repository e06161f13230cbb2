"""A memory with a history, and each of its columns that can contain words: planted there, or why it cannot.

`PLANTS` are columns of text, with the value put into one of their rows. `TRACES` are bytes derived from words:
checksums, vectors and word indexes. `NO_WORDS` says for each other column of text or bytes why it contains none. A new
column must be added to one of the three (test_every_column.py).
"""

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from reveries.db.driver import dbapi, load_vector_search
from reveries.memory.conversations import Thought
from reveries.memory.importing import PastTurn
from reveries.memory.model import Origin
from tests.fakes.clock import HandClock
from tests.memory.kit import NOW, answering, deep_answer, open_memory, talk
from tests.memory.test_deep_recall import a_year_passes

WORD: Final = "zqvorblax7741"
"""What is planted. One word, and one token of the word index."""
SAID: Final = "quibbletrane"
"""What was said in the life itself: by the product's own ways it came wherever it did."""


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


_TEXT: Final = f"something about {WORD} indeed"
_LIST: Final = _json([_TEXT])
_EXEMPLAR: Final = {
    "said_at": NOW,
    "turn_id": None,
    "experience_id": "x",
    "quote": "",
    "context": "",
    "significance": "",
}
_PATTERN: Final = {"description": _TEXT, "confidence": 0.5, "exemplarIds": []}

PLANTS: Final[dict[str, tuple[str, ...]]] = {
    "conversations.source": (f"{WORD}.txt",),
    "conversations.title": (_TEXT,),
    "conversations.folded_summary": (_TEXT,),
    "raw_experiences.content": (_TEXT,),
    "raw_experiences.metadata": (_json({"topics": [_TEXT]}), _json({"reason": _TEXT})),
    "turns.speaker": (WORD,),
    "turns.text": (_TEXT,),
    "episodes.summary": (_TEXT,),
    "episodes.exemplars": tuple(_json([{**_EXEMPLAR, part: _TEXT}]) for part in ("quote", "context", "significance")),
    "episodes.gap": (_json({"duration": 9e5, "significance": _TEXT}),),
    "episodes.topics": (_LIST,),
    "episodes.entities": (_LIST,),
    "self_model.narrative": (_TEXT,),
    "self_model.values": (_LIST,),
    "self_model.tendencies": (_LIST,),
    "self_model.relationship": tuple(
        _json({"default": part})
        for part in (
            {"communicationStyle": _TEXT},
            {"sharedContext": [_TEXT]},
            {"patterns": [_PATTERN]},
            {"pinned": [_TEXT]},
            {"refused": [_TEXT]},
        )
    ),
    "self_model.strengths": (_LIST,),
    "self_model.limitations": (_LIST,),
    "self_model.current_focus": (_TEXT,),
    "self_model.unresolved_threads": (_LIST,),
    "self_model.anticipations": (_LIST,),
    "self_model.closed_threads": (_LIST,),
    "self_model.past_facts": (_LIST,),
    "self_model.days": (_json([[_TEXT, 1.0, 1.0]]),),
    "self_model_history.reason": (_TEXT,),
    "self_model_history.before": (
        _json({"narrative": _TEXT}),
        _json({"owner_facts": [_TEXT]}),
        _json({"refused": [_TEXT]}),
        _json({"patterns": [{"description": _TEXT, "confidence": 0.5, "episode_ids": []}]}),
    ),
    "gaps.significance": (_TEXT,),
    "monologue_state.last_buffer": (_TEXT,),
    "monologue_state.last_context": (_json({"prompt": _TEXT}),),
    "monologue_log.text": (_TEXT,),
    "monologue_log.explanation": (_TEXT,),
    "monologue_log.occasion": (_TEXT,),
    "asked_thoughts.about": (_TEXT,),
    "calendar_told.event_key": (f"2026-11-21 {WORD}",),
    "owner_notes.text": (_TEXT,),
    "owner_notes.reason": (_TEXT,),
    "circuit_breaker_events.explanation": (_TEXT,),
    "circuit_breaker_events.buffer_snapshot": (_TEXT,),
    "tripwire_events.excerpt": (_TEXT,),
    "consolidation_changes.change_set": (_json({"form": 2, "episodes": [{"summary": _TEXT}]}),),
    "consolidation_changes.log": (_TEXT,),
    "consolidation_pending.question": (_TEXT,),
    "consolidation_pending.answer": (_json({"summary": _TEXT}),),
    "held_experiences.why": (_TEXT,),
    "claims.subject": (WORD,),
    "claims.relation": (WORD,),
    "claims.value": (WORD,),
    "claims.quote": (_TEXT,),
    "claims.speaker": (WORD,),
    "claim_conflicts.reason": (_TEXT,),
    "provider_circuits.last_error": (_TEXT,),
    "deep_texts.speaker": (WORD,),
    "deep_texts.text": (_TEXT,),
    "projects.name": (WORD,),
    "goals.text": (_TEXT,),
    "orientation.content": (
        _json({"vision_summary": _TEXT}),
        _json({"vision_summary": "v", "success_criteria": [{"text": _TEXT}]}),
        _json({"vision_summary": "v", "key_decisions": [{"decision": "d", "reasoning": _TEXT, "date": 1.0}]}),
    ),
    **dict.fromkeys(
        (
            "tasks.title",
            "tasks.description",
            "tasks.skill_area",
            "tasks.outcome",
            "tasks.audit",
            "tasks.failure",
            "tasks.held_because",
            "tasks.flagged_because",
            "questions.question",
            "questions.context",
            "questions.answer",
            "activities.details",
            "activities.skill_area",
            "steps.arguments",
            "steps.result",
            "steps.path",
            "projects.folder",
            "documents.path",
            "documents.name",
            "pages.label",
            "pages.section",
            "pages.text",
            "pages.outline",
            "pointers.title",
            "citations.document",
            "citations.page_label",
            "citations.quote",
            "chunks.title",
            "chunks.content",
            "chunks.fell_because",
            "chunks.lead",
            "proposals.title",
            "proposals.document",
            "proposals.source_line",
            "wishes.title",
            "decided_conflicts.a_document",
            "decided_conflicts.a_text",
            "decided_conflicts.b_document",
            "decided_conflicts.b_text",
            "decided_conflicts.reason",
            "drafts.wish",
            "drafts.content",
            "drafts.flagged_because",
        ),
        (_TEXT,),
    ),
    "questions.context_tags": (_LIST,),
    "questions.payload": (_LIST,),
    "chunks.tags": (_LIST,),
    "chunks.names": (_LIST,),
    "pages.cross_references": (_LIST,),
    "pointers.cross_references": (_LIST,),
    "drafts.doubts": (_LIST,),
    "tasks.files": (_json([{"path": _TEXT, "sha256": "0", "is_made": True}]),),
    "relations.context_tags": (_LIST,),
    "coretrievals.query": (_TEXT,),
    "grants.name": (_TEXT,),
}

_HOLDS: Final = f"LIKE '%{SAID}%'"
_TURNS: Final = f"SELECT id FROM turns WHERE text {_HOLDS}"
_EPISODES: Final = f"SELECT id FROM episodes WHERE summary {_HOLDS}"
_PASSAGE: Final = f"EXISTS (SELECT 1 FROM raw_experiences WHERE content {_HOLDS} AND owner_id LIKE id || '#%')"

TRACES: Final = {
    "raw_experiences.checksum": f"SELECT checksum FROM raw_experiences WHERE content {_HOLDS}",
    "turns.checksum": f"SELECT checksum FROM turns WHERE text {_HOLDS}",
    "turns.import_key": f"SELECT import_key FROM turns WHERE text {_HOLDS} AND import_key IS NOT NULL",
    "episodes.checksum": f"SELECT checksum FROM episodes WHERE summary {_HOLDS}",
    "monologue_log.checksum": f"SELECT checksum FROM monologue_log WHERE text {_HOLDS}",
    "owner_notes.checksum": f"SELECT checksum FROM owner_notes WHERE text {_HOLDS}",
    "claims.checksum": f"SELECT checksum FROM claims WHERE quote {_HOLDS}",
    "deep_texts.checksum": f"SELECT checksum FROM deep_texts WHERE text {_HOLDS}",
    "goals.checksum": f"SELECT checksum FROM goals WHERE text {_HOLDS}",
    "orientation.checksum": f"SELECT checksum FROM orientation WHERE content {_HOLDS}",
    "tasks.checksum": f"SELECT checksum FROM tasks WHERE title {_HOLDS}",
    "proposals.checksum": f"SELECT checksum FROM proposals WHERE source_line {_HOLDS}",
    "decided_conflicts.checksum": f"SELECT checksum FROM decided_conflicts WHERE a_text {_HOLDS}",
    "wishes.checksum": f"SELECT checksum FROM wishes WHERE title {_HOLDS}",
    "drafts.checksum": f"SELECT checksum FROM drafts WHERE content {_HOLDS}",
    "questions.checksum": f"SELECT checksum FROM questions WHERE question {_HOLDS}",
    "documents.sha256": "SELECT CAST(sha256 AS BLOB) FROM documents",
    "documents.original": "SELECT CAST(original AS BLOB) FROM documents",
    "pages.checksum": f"SELECT checksum FROM pages WHERE text {_HOLDS}",
    "chunks.checksum": f"SELECT checksum FROM chunks WHERE content {_HOLDS}",
    "chunk_vectors.vector": "SELECT vector FROM chunk_vectors",
    "chunk_words_data.block": f"SELECT CAST('{SAID}' AS BLOB) FROM chunk_words WHERE chunk_words MATCH '{SAID}'",
    "vectors.vector": f"SELECT vector FROM vectors WHERE owner_id IN ({_TURNS} UNION {_EPISODES})",
    "vectors.vector of passages": f"SELECT vector FROM vectors WHERE {_PASSAGE}",
    "vectors.vector of another model": "SELECT vector FROM vectors WHERE model_id = 'an earlier one'",
    "embedding_cache.content_hash": "SELECT CAST(content_hash AS BLOB) FROM embedding_cache",
    "embedding_cache.vector": "SELECT vector FROM embedding_cache",
    "consolidation_vectors.vector": f"SELECT vector FROM consolidation_vectors WHERE episode_id IN ({_EPISODES})",
    "deep_words_data.block": f"SELECT CAST('{SAID}' AS BLOB) FROM deep_words WHERE deep_words MATCH '{SAID}'",
    "deep_vectors_1_vector_chunks00.vectors": (
        f"SELECT vector FROM deep_vectors_1 WHERE rowid IN (SELECT id FROM deep_texts WHERE text {_HOLDS})"
    ),
}
"""How to read the bytes that were made of `SAID`. What is behind the name of a column tells those of one apart."""

_ID: Final = "the mind made it: random, or a number"
_MODEL: Final = "the name of a model, from the settings"
_CODE: Final = "one of a few words that stand in the program"
_FOLLOWS: Final = "SQLite's own, kept with a table whose columns are planted or traced here"

NO_WORDS: Final = {
    **dict.fromkeys(
        (
            "conversations.id",
            "raw_experiences.id",
            "raw_experiences.conversation_id",
            "turns.id",
            "turns.conversation_id",
            "turns.experience_id",
            "episodes.id",
            "episodes.temporal_before",
            "episodes.temporal_after",
            "episodes.conversation_id",
            "episodes.merged_into",
            "episode_sources.episode_id",
            "episode_sources.experience_id",
            "episode_links.from_id",
            "episode_links.to_id",
            "vectors.owner_id",
            "self_model_history.run_id",
            "self_model_history.evidence",
            "gaps.id",
            "gaps.conversation_id",
            "monologue_log.id",
            "monologue_log.recalled",
            "monologue_log.experience_id",
            "thought_marks.thought_id",
            "withdrawn_experiences.experience_id",
            "surfaced_memories.episode_id",
            "owner_notes.id",
            "owner_notes.thought_id",
            "owner_notes.answered_in",
            "consolidation_runs.id",
            "consolidation_changes.run_id",
            "consolidation_changes.experience_id",
            "consolidation_undone.run_id",
            "consolidation_undone.undo_id",
            "consolidation_vectors.episode_id",
            "consolidation_pending.run_id",
            "consolidation_pending.experience_id",
            "held_experiences.experience_id",
            "claims.id",
            "claims.turn_id",
            "claims.experience_id",
            "claim_conflicts.id",
            "claim_conflicts.earlier_id",
            "claim_conflicts.later_id",
            "deep_texts.owner_id",
            "deep_texts.experience_id",
            "dormancy_log.episode_id",
            "pinned_episodes.episode_id",
            "snapshot_marks.mark",
            "changed_rows.id",
            "erasures.id",
            "tombstones.erasure_id",
            "projects.id",
            "goals.id",
            "goals.project_id",
            "orientation.project_id",
            "tasks.id",
            "tasks.project_id",
            "tasks.goal_id",
            "tasks.rests_on",
            "proposals.id",
            "proposals.project_id",
            "proposals.task_id",
            "decided_conflicts.id",
            "decided_conflicts.project_id",
            "decided_conflicts.rests_on",
            "wishes.id",
            "wishes.project_id",
            "wishes.question_id",
            "wishes.task_id",
            "reminders.task_id",
            "drafts.id",
            "drafts.project_id",
            "drafts.rests_on",
            "task_needs.task_id",
            "task_needs.needs_id",
            "questions.id",
            "questions.project_id",
            "questions.task_id",
            "question_blocks.question_id",
            "question_blocks.task_id",
            "activities.project_id",
            "activities.task_id",
            "steps.task_id",
            "documents.id",
            "documents.project_id",
            "pages.id",
            "pages.document_id",
            "pointers.chunk_id",
            "pointers.page_id",
            "pointer_boxes.pointer_id",
            "citations.turn_id",
            "citations.pointer_id",
            "chunks.id",
            "chunks.project_id",
            "chunks.document_id",
            "chunks.rests_on",
            "chunks.task_id",
            "chunk_vectors.chunk_id",
            "chunk_numbers.chunk_id",
            "chunks.superseded_by",
            "relations.id",
            "relations.from_id",
            "relations.to_id",
            "relations.derived_from",
            "coretrievals.a_id",
            "coretrievals.b_id",
            "coretrievals.session_id",
            "grants.id",
            "grants.project_id",
            "grants.task_id",
            "usage_ledger.project_id",
        ),
        _ID,
    ),
    **dict.fromkeys(
        (
            "vectors.model_id",
            "embedding_cache.model_id",
            "embedding_space.model_id",
            "monologue_log.model",
            "decided_conflicts.model",
            "consolidation_vectors.model_id",
            "usage_ledger.model",
            "structured_answers.model",
            "deep_vector_tables.model_id",
            "model_tiers.model",
            "chunk_vectors.model_id",
        ),
        _MODEL,
    ),
    **dict.fromkeys(
        (
            "conversations.channel",  # daemon/talk/conversation_registry.py
            "monologue_log.why_began",  # monologue/triggers.py
            "monologue_log.why_ended",  # monologue/thinking.py
            "circuit_breaker_events.action",  # safety/verdict.py
            "circuit_breaker_events.reason",
            "circuit_breaker_events.severity",
            "circuit_breaker_events.response_taken",  # monologue/cool_down.py
            "tripwire_events.indicator",  # safety/tripwire.py
            "tripwire_events.monologue_state",  # why the thought ended
            "consolidation_runs.trigger",  # memory/sleep/pass_log.py and who calls it
            "consolidation_runs.outcome",
            "usage_ledger.role",  # llm/base.py
            "usage_ledger.price_version",  # of prices.toml
            "usage_ledger.outcome",  # llm/budget.py
            "provider_circuits.provider",  # llm/choose.py
            "provider_circuits.last_fault",  # errors.py
            "schedule.job",  # daemon/app.py
            "schedule.last_outcome",  # what a job counted, or the class of its error
            "dormancy_log.reason",  # memory/sleep/decay.py, memory/forgetting
            "projects.rested_because",  # projects/work.py
            "projects.rewrite_due",  # projects/triggers.py
            "orientation.trigger",  # projects/triggers.py
            "activities.action",  # projects/store.py and who calls it
            "steps.tool",  # projects/work_model.py and who calls it
            "documents.media_type",  # knowledge/documents.py
            "pages.kind",  # knowledge/reading/layout.py
            "pointers.kind",  # knowledge/reading/layout.py
        ),
        _CODE,
    ),
    "tasks.due": "a day",
    "proposals.due": "a day",
    "chunks.written_on": "a day",
    "wishes.due": "a day",
    "reminders.due": "a day",
    "tasks.repeats": "how often",
    "model_tiers.scores": "numbers, by the names of the groups of our own tasks",
    **dict.fromkeys(
        (
            "orientation.foreign_sources",
            "tasks.foreign_sources",
            "proposals.foreign_sources",
            "decided_conflicts.foreign_sources",
            "drafts.foreign_sources",
            "questions.foreign_sources",
            "steps.foreign_sources",
            "chunks.foreign_sources",
        ),
        "kinds and hashes of what others wrote",
    ),
    "steps.sha256": "a hash of a whole file or of all that a command said",
    "turns.echoes": "numbers: where a repetition begins and ends",
    "citations.short_id": "numbers: of a document, a page and a place on it",
    "citations.boxes": "numbers: where a box lies on a page",
    "erasures.hash_key": "random",
    "erasures.counts": "how many rows of what kind went, by our names of the kinds",
    "tombstones.hash": "by this an erased text is known when it comes back: a keyed hash (docs/explain/forgetting.md)",
    "deep_words_config.k": _FOLLOWS,
    "deep_words_config.v": _FOLLOWS,
    "deep_words_docsize.sz": "numbers: how many words a text has",
    "deep_words_idx.segid": _FOLLOWS,
    "deep_words_idx.term": "the beginning of a word of the index, in the same pages: `deep_words_data.block` is traced",
    "deep_words_idx.pgno": _FOLLOWS,
    "chunk_words_config.k": _FOLLOWS,
    "chunk_words_config.v": _FOLLOWS,
    "chunk_words_docsize.sz": "numbers: how many words a text has",
    "chunk_words_idx.segid": _FOLLOWS,
    "chunk_words_idx.term": "as that of deep_words: `chunk_words_data.block` is traced",
    "chunk_words_idx.pgno": _FOLLOWS,
    "deep_vectors_1_chunks.validity": "bits: which places of a chunk are taken",
    "deep_vectors_1_chunks.rowids": "numbers: of which text a vector is",
    "deep_vectors_1_info.key": _FOLLOWS,
    "deep_vectors_1_info.value": _FOLLOWS,
    "deep_vectors_1_rowids.id": _FOLLOWS,
    "deep_vectors_1_vector_chunks00.rowid": "a number",
    "sqlite_sequence.name": "the names of our tables",
    "sqlite_sequence.seq": _FOLLOWS,
}

_PLACED: Final = f"""
INSERT INTO vectors SELECT 'turn', id, 'an earlier one', randomblob(256) FROM turns WHERE text {_HOLDS} LIMIT 1;
INSERT INTO embedding_cache (content_hash, model_id, vector) VALUES (hex(randomblob(32)), 'm', randomblob(256));
INSERT INTO consolidation_vectors
    SELECT max(consolidation_changes.id), ({_EPISODES} LIMIT 1), 'm', randomblob(256) FROM consolidation_changes;
INSERT INTO monologue_state VALUES (1, 'It thinks.', '{{}}', 0, 0);
INSERT INTO asked_thoughts (reason, about, asked_at) VALUES ('nudge', 'the sea', 0);
INSERT INTO surfaced_memories SELECT id, 0 FROM episodes LIMIT 1;
INSERT INTO calendar_told VALUES ('2026-11-21 dentist', 0);
INSERT INTO thought_marks SELECT id, 0, NULL FROM monologue_log LIMIT 1;
INSERT INTO owner_notes
    SELECT id, id, ended_at, 'Note: {SAID}.', 'It came by itself.', NULL, NULL, randomblob(16),
        (SELECT id FROM consolidation_runs LIMIT 1)
    FROM monologue_log LIMIT 1;
INSERT INTO circuit_breaker_events
    (happened_at, source, action, reason, severity, explanation, buffer_snapshot, response_taken)
    VALUES (0, 'monologue', 'interrupt', 'loop_detected', 'medium', 'It went round.', 'a a a', 'the thought was ended');
INSERT INTO tripwire_events (happened_at, indicator, excerpt, monologue_state)
    VALUES (0, 'distress', 'Help me.', 'settled');
INSERT INTO consolidation_pending
    SELECT (SELECT id FROM consolidation_runs LIMIT 1), id, 0, 'May it?', '{{}}' FROM raw_experiences LIMIT 1;
INSERT INTO held_experiences SELECT id, 0, 'it was taken back' FROM raw_experiences LIMIT 1;
INSERT INTO provider_circuits VALUES ('openai', 1, 1, NULL, 0, 0, 0, 'broken', 'It broke off.');
INSERT INTO projects (id, name, created_at) VALUES ('p1', 'Boat', 0);
INSERT INTO goals VALUES ('g1', 'p1', 'Find the {SAID}.', 'active', 0, 0, NULL, randomblob(16));
INSERT INTO orientation (project_id, version, content, trigger, written_at, checksum)
    VALUES ('p1', 1, '{{"vision_summary": "the {SAID}"}}', 'goal', 0, randomblob(16));
INSERT INTO tasks (id, project_id, goal_id, title, description, kind, status, created_at, updated_at, checksum)
    VALUES ('t1', 'p1', 'g1', 'Look for the {SAID}', '', 'ask', 'ready', 0, 0, randomblob(16));
INSERT INTO proposals (id, project_id, title, state, document, line, source_line, created_at, checksum)
    VALUES ('o1', 'p1', 'Paint the {SAID}', 'proposed', 'boat.md', 1, 'Paint the {SAID}', 0, randomblob(16));
INSERT INTO decided_conflicts (id, project_id, a_document, a_text, b_document, b_text, state, decided_by, rests_on,
    decided_at, checksum)
    VALUES ('k1', 'p1', 'a.md', 'The {SAID} is 3 m', 'b.md', '4 m', 'dismissed', 'owner', '[]', 0, randomblob(16));
INSERT INTO wishes (id, project_id, action, title, state, created_at, checksum)
    VALUES ('w1', 'p1', 'add', 'Varnish the {SAID}', 'proposed', 0, randomblob(16));
INSERT INTO reminders VALUES ('t1', '2026-12-08', 'on_day', 0, NULL);
INSERT INTO drafts (id, project_id, wish, content, rests_on, created_at, checksum)
    VALUES ('d1', 'p1', 'a letter', 'Dear owner of the {SAID}', '[]', 0, randomblob(16));
INSERT INTO questions (id, project_id, kind, question, asked_at, checksum)
    VALUES ('q1', 'p1', 'question', 'Where is the {SAID}?', 0, randomblob(16));
INSERT INTO activities (project_id, action, happened_at) VALUES ('p1', 'created', 0);
INSERT INTO steps (task_id, attempt, position, tool, arguments, state, began_at)
    VALUES ('t1', 1, 1, 'search', 'boat', 'done', 0);
INSERT INTO documents (id, project_id, origin, path, name, media_type, sha256, is_trusted, added_at, original)
    VALUES ('x1', 'p1', 'folder', 'boat.md', 'boat.md', 'text/markdown', hex(randomblob(32)), 0, 0,
        hex(randomblob(32)));
INSERT INTO pages (id, document_id, version, number, width, height, text, text_from, checksum)
    VALUES ('x1p1', 'x1', 1, 1, 612, 792, 'The {SAID} is blue.', 'layer', randomblob(16));
INSERT INTO chunks (id, project_id, content, type, confidence, source, created_at, last_accessed_at, checksum,
    document_id)
    VALUES ('c1', 'p1', 'The {SAID} is blue.', 'insight', 'inferred', 'deduction', 0, 0, randomblob(16), 'x1');
INSERT INTO pointers VALUES ('c1', 'x1p1', 1, 'paragraph', '', '[]');
INSERT INTO pointer_boxes VALUES ('c1', 1, 1, 0.1, 0.1, 0.8, 0.1);
INSERT INTO citations (turn_id, position, pointer_id, short_id, state, made_by, document, page_number, page_label,
    quote)
    SELECT id, 1, 'c1', 'd1.p1.b1', 'on_page', 'rules', 'boat.md', 1, '', 'The {SAID} is blue.' FROM turns LIMIT 1;
INSERT INTO chunk_vectors VALUES ('c1', 'm', randomblob(256));
INSERT INTO chunks (id, project_id, content, type, confidence, source, created_at, last_accessed_at, checksum)
    SELECT letter, 'p1', letter, 'insight', 'inferred', 'deduction', 0, 0, randomblob(16)
    FROM (SELECT 'c2' AS letter UNION SELECT 'c3');
INSERT INTO relations (id, from_id, to_id, type, last_activated_at, created_at)
    VALUES ('r1', 'c2', 'c3', 'supports', 0, 0);
INSERT INTO coretrievals VALUES ('c2', 'c3', 'wake 1', 'boats', 0, NULL);
INSERT INTO grants (id, project_id, kind, name, given_at) VALUES ('a1', 'p1', 'tool', 'fetch', 0);
"""
"""Rows that no plain life leaves at its end."""


async def live(folder: Path) -> None:
    """Leave a memory in `folder` in which every column of `PLANTS` has a row, and `SAID` has gone everywhere."""
    clock = HandClock(NOW)
    async with open_memory(folder, clock) as memory:
        await memory.begin_import("letters.txt").add(
            [PastTurn(NOW - 9e6, "Bea", f"Grandmother's boat was the {SAID}.")]
        )
        await talk(memory, ("I live in Lisbon.", "Yes."))
        await memory.light_sleep()
        await a_year_passes(memory, clock)
        conversation = await talk(memory, (f"My boss is called {SAID}, I think.", "Oh."), ("I live in Porto.", "Oh?"))
        await memory.light_sleep()
        await memory.conversations.mark_conversation_idle(conversation)
        await clock.advance(3 * 86_400)
        await talk(memory, (f"The {SAID} is blue.", f"So the {SAID} is."))
        text = f"A thought about the {SAID}, and about what it may mean."
        await memory.conversations.record_thought(
            Thought("thought1", clock.now(), clock.now(), "timer", "settled", text, 5, "m")
        )
        await memory.conversations.record_external(f"From outside comes the word {SAID}.", Origin.SYSTEM)
        await memory.light_sleep()
        learnt: dict[str, object] = {"owner_facts": [f"Ana knows {SAID}."], "narrative": f"I know of {SAID}."}
        deep = deep_answer(0.9, patterns=[f"Speaks of {SAID}."])
        await memory.deep_sleep(answering(*[deep, learnt] * 20), limit=4)
        await memory.save_snapshot()
    with opened(folder) as connection:
        connection.executescript(_PLACED)


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[sqlite3.Connection]:
    """The file of a memory that is not awake, to be read and written by hand."""
    with contextlib.closing(dbapi.connect(str(folder / "memory.db"))) as connection:
        load_vector_search(connection)
        with connection:
            yield connection


def columns(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """Return every table and column that may hold text or bytes, by declared type."""
    for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        if "VIRTUAL TABLE" not in _declared(connection, table):
            for column in connection.execute(f'PRAGMA table_xinfo("{table}")').fetchall():
                if column[2].upper() not in {"INTEGER", "REAL"}:
                    yield table, column[1]


def refuses_words(connection: sqlite3.Connection, name: str) -> bool:
    """Whether a constraint allows only fixed words in a column ("table.column")."""
    table, _, column = name.partition(".")
    return f"CHECK ({column} IN (" in _declared(connection, table)


def _declared(connection: sqlite3.Connection, table: str) -> str:
    (declared,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    return str(declared)


def plant(connection: sqlite3.Connection, name: str, value: str) -> None:
    """Put `value` into a column ("table.column") of one row; for a copied column also into its source."""
    table, _, column = name.partition(".")
    if table == "deep_texts":
        # Its word index follows what comes in and what goes.
        connection.execute("CREATE TEMP TABLE moved AS SELECT * FROM deep_texts WHERE kind = 'turn' LIMIT 1")
        connection.execute("DELETE FROM deep_texts WHERE id = (SELECT id FROM moved)")
        connection.execute(f"UPDATE moved SET {column} = ?", (value,))
        connection.execute("INSERT INTO deep_texts SELECT * FROM moved")
        connection.execute(f"UPDATE turns SET {column} = ? WHERE id = (SELECT owner_id FROM moved)", (value,))
        return
    keys = [row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[5]]
    first = f"({', '.join(keys)}) = (SELECT {', '.join(keys)} FROM {table} LIMIT 1)"
    done = connection.execute(f'UPDATE {table} SET "{column}" = ? WHERE {first}', (value,))
    assert done.rowcount == 1, f"{table} has no row to plant in"
