-- The whole schema. Times are unix seconds (UTC, REAL). A change is a new file in db/migrations and the same change here.
-- `origin` never changes; `tainted` is inherited by every row that is derived from a tainted one; `checksum` is the
-- BLAKE2b-128 of a row's text (db/checksums.py), because SQLite's own check does not detect most flipped bits.

CREATE TABLE conversations (
    id TEXT PRIMARY KEY,
    began_at REAL NOT NULL,
    last_said_at REAL NOT NULL,
    rested_at REAL,
    source TEXT NOT NULL,          -- "chat", or the name of an import
    title TEXT NOT NULL DEFAULT '',
    folded_summary TEXT NOT NULL DEFAULT '',
    folded_until INTEGER NOT NULL DEFAULT 0,  -- turns before this position are told as the summary
    channel TEXT NOT NULL DEFAULT 'chat'      -- which of the conversations side by side; the plain chat is "chat"
) STRICT;
CREATE INDEX conversations_by_time ON conversations (last_said_at);

CREATE TABLE raw_experiences (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('conversation', 'monologue', 'external')),
    happened_at REAL NOT NULL,
    content TEXT NOT NULL,
    salience REAL NOT NULL CHECK (salience BETWEEN 0 AND 1),
    valence REAL NOT NULL DEFAULT 0 CHECK (valence BETWEEN -1 AND 1),
    light_slept INTEGER NOT NULL DEFAULT 0 CHECK (light_slept IN (0, 1)),
    processed INTEGER NOT NULL DEFAULT 0 CHECK (processed IN (0, 1)),
    attempts INTEGER NOT NULL DEFAULT 0,
    conversation_id TEXT REFERENCES conversations (id),
    metadata TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(metadata)),
    origin TEXT NOT NULL CHECK (origin IN ('owner', 'self', 'tool', 'document', 'channel', 'system')),
    tainted INTEGER NOT NULL CHECK (tainted IN (0, 1)),
    checksum BLOB NOT NULL
) STRICT;
CREATE INDEX raw_experiences_to_process ON raw_experiences (processed, salience);
CREATE INDEX raw_experiences_to_sleep_on ON raw_experiences (light_slept, happened_at);
CREATE INDEX raw_experiences_by_conversation ON raw_experiences (conversation_id, happened_at);

CREATE TABLE turns (
    id TEXT PRIMARY KEY,
    conversation_id TEXT NOT NULL REFERENCES conversations (id),
    experience_id TEXT REFERENCES raw_experiences (id),
    position INTEGER NOT NULL,
    origin TEXT NOT NULL CHECK (origin IN ('owner', 'self', 'tool', 'document', 'channel', 'system')),
    tainted INTEGER NOT NULL CHECK (tainted IN (0, 1)),
    speaker TEXT NOT NULL,
    text TEXT NOT NULL,
    said_at REAL NOT NULL,
    is_partial INTEGER NOT NULL DEFAULT 0 CHECK (is_partial IN (0, 1)),
    import_key BLOB UNIQUE,        -- hash of what an imported line is, so that importing twice stores nothing twice
    checksum BLOB NOT NULL,
    echoes TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(echoes)),   -- [start, end] of what only repeats what was recalled
    UNIQUE (conversation_id, position)
) STRICT;
CREATE INDEX turns_by_experience ON turns (experience_id);

CREATE TABLE episodes (
    id TEXT PRIMARY KEY,
    created_at REAL NOT NULL,
    ended_at REAL NOT NULL,
    last_accessed_at REAL NOT NULL,
    access_count INTEGER NOT NULL DEFAULT 0,
    summary TEXT NOT NULL,
    exemplars TEXT NOT NULL CHECK (json_valid(exemplars)),
    temporal_before TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(temporal_before)),
    temporal_after TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(temporal_after)),
    gap TEXT CHECK (gap IS NULL OR json_valid(gap)),
    salience REAL NOT NULL CHECK (salience BETWEEN 0 AND 1),
    confidence REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    accessibility REAL NOT NULL DEFAULT 1 CHECK (accessibility BETWEEN 0.1 AND 1),
    valence REAL NOT NULL DEFAULT 0 CHECK (valence BETWEEN -1 AND 1),
    topics TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(topics)),
    entities TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(entities)),
    last_decayed_at REAL NOT NULL,
    conversation_id TEXT REFERENCES conversations (id),
    depth TEXT NOT NULL CHECK (depth IN ('light', 'deep')),
    merged_into TEXT REFERENCES episodes (id),
    origin TEXT NOT NULL CHECK (origin IN ('owner', 'self', 'tool', 'document', 'channel', 'system')),
    tainted INTEGER NOT NULL CHECK (tainted IN (0, 1)),
    checksum BLOB NOT NULL,
    dormant INTEGER NOT NULL DEFAULT 0 CHECK (dormant IN (0, 1))   -- only on disk until a strong cue wakes it
) STRICT;
CREATE INDEX episodes_by_time ON episodes (created_at);
CREATE INDEX episodes_by_merger ON episodes (merged_into) WHERE merged_into IS NOT NULL;

CREATE TABLE episode_sources (
    episode_id TEXT NOT NULL REFERENCES episodes (id),
    experience_id TEXT NOT NULL REFERENCES raw_experiences (id),
    PRIMARY KEY (episode_id, experience_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX episode_sources_by_experience ON episode_sources (experience_id);

CREATE TABLE episode_links (
    from_id TEXT NOT NULL REFERENCES episodes (id),
    to_id TEXT NOT NULL REFERENCES episodes (id),
    type TEXT NOT NULL CHECK (type IN ('causal', 'thematic', 'temporal', 'emotional')),
    strength REAL NOT NULL CHECK (strength BETWEEN 0 AND 1),
    PRIMARY KEY (from_id, to_id, type)  -- one row a type: R-149 allows one link, RA-18 says why we take more
) STRICT, WITHOUT ROWID;
CREATE INDEX episode_links_by_target ON episode_links (to_id);

-- Vectors by owner and model. float32, little-endian, unit length.
CREATE TABLE vectors (
    owner_kind TEXT NOT NULL CHECK (owner_kind IN ('episode', 'turn')),
    owner_id TEXT NOT NULL,
    model_id TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (owner_kind, owner_id, model_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX vectors_by_model ON vectors (model_id, owner_kind);

-- Cache of paid vectors, by the SHA-256 of the exact text. Bounded; emptied by `forget`, because a vector reveals its text.
CREATE TABLE embedding_cache (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    content_hash TEXT NOT NULL,
    model_id TEXT NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (content_hash, model_id)
) STRICT;

-- The model whose vectors recall uses: changed in one transaction, when all vectors of another model are there.
CREATE TABLE embedding_space (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    model_id TEXT NOT NULL,
    since REAL NOT NULL
) STRICT;

CREATE TABLE self_model (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    narrative TEXT NOT NULL,
    "values" TEXT NOT NULL CHECK (json_valid("values")),
    tendencies TEXT NOT NULL CHECK (json_valid(tendencies)),
    relationship TEXT NOT NULL CHECK (json_valid(relationship)),   -- keyed by user id; "default" is the owner (RA-20)
    strengths TEXT NOT NULL CHECK (json_valid(strengths)),
    limitations TEXT NOT NULL CHECK (json_valid(limitations)),
    current_focus TEXT NOT NULL,
    unresolved_threads TEXT NOT NULL CHECK (json_valid(unresolved_threads)),
    anticipations TEXT NOT NULL CHECK (json_valid(anticipations)),
    updated_at REAL NOT NULL,
    closed_threads TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(closed_threads)),
    past_facts TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(past_facts)),   -- of the owner: no longer true
    days TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(days))    -- each statement and its day, in unix seconds
) STRICT;

CREATE TABLE self_model_history (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    replaced_at REAL NOT NULL,
    run_id TEXT,
    reason TEXT NOT NULL,
    evidence TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(evidence)),   -- episode ids
    before TEXT NOT NULL CHECK (json_valid(before))
) STRICT;

CREATE TABLE gaps (
    id TEXT PRIMARY KEY,
    conversation_id TEXT NOT NULL REFERENCES conversations (id),
    started_at REAL NOT NULL,
    ended_at REAL,
    duration_seconds REAL,
    significance TEXT NOT NULL DEFAULT '',
    felt REAL NOT NULL DEFAULT 0,                 -- valence of what was said just before it
    left_open INTEGER NOT NULL DEFAULT 0 CHECK (left_open IN (0, 1))   -- a question or a promise stood open
) STRICT;
CREATE INDEX gaps_by_start ON gaps (started_at);

CREATE TABLE monologue_state (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    last_buffer TEXT NOT NULL,
    last_context TEXT NOT NULL CHECK (json_valid(last_context)),
    quiescent INTEGER NOT NULL CHECK (quiescent IN (0, 1)),
    updated_at REAL NOT NULL
) STRICT;

-- Append-only: retention never touches it (RA-5).
CREATE TABLE monologue_log (
    id TEXT PRIMARY KEY,
    began_at REAL NOT NULL,
    ended_at REAL NOT NULL,
    why_began TEXT NOT NULL,
    why_ended TEXT NOT NULL,
    text TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    recalled TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(recalled)),
    experience_id TEXT REFERENCES raw_experiences (id),
    model TEXT NOT NULL,
    checksum BLOB NOT NULL,
    explanation TEXT NOT NULL DEFAULT '',  -- why it ended, in words
    occasion TEXT NOT NULL DEFAULT '',     -- what it began with: the owner's nudge, the event, the memory
    -- What the model was asked for it, as the ledger has it.
    calls INTEGER NOT NULL DEFAULT 0,
    prompt_tokens INTEGER NOT NULL DEFAULT 0,
    completion_tokens INTEGER NOT NULL DEFAULT 0,
    microdollars INTEGER NOT NULL DEFAULT 0,
    tainted INTEGER NOT NULL DEFAULT 0 CHECK (tainted IN (0, 1))
) STRICT;
CREATE INDEX monologue_log_by_time ON monologue_log (began_at);

-- The owner's mark on a thought: pinned (it matters), or dropped (memory ignores it). The log keeps both.
CREATE TABLE thought_marks (
    thought_id TEXT PRIMARY KEY REFERENCES monologue_log (id),
    pinned_at REAL,
    dropped_at REAL
) STRICT;

-- Experiences that sleep skips, because the owner dropped the thought.
CREATE TABLE withdrawn_experiences (
    experience_id TEXT PRIMARY KEY REFERENCES raw_experiences (id),
    withdrawn_at REAL NOT NULL
) STRICT;

CREATE TABLE monologue_control (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    paused_at REAL                  -- null: the owner lets it think
) STRICT;

-- Nudges of the owner that it has not thought about yet.
CREATE TABLE asked_thoughts (
    id INTEGER PRIMARY KEY,
    reason TEXT NOT NULL CHECK (reason IN ('nudge', 'step')),
    about TEXT NOT NULL,
    asked_at REAL NOT NULL
) STRICT;

-- When a memory last surfaced by itself.
CREATE TABLE surfaced_memories (
    episode_id TEXT PRIMARY KEY,
    surfaced_at REAL NOT NULL
) STRICT;

-- Calendar events that have started a thought: each only once.
CREATE TABLE calendar_told (
    event_key TEXT PRIMARY KEY,
    told_at REAL NOT NULL
) STRICT;

-- Notes: sentences that a thought wanted the owner to know.
CREATE TABLE owner_notes (
    id TEXT PRIMARY KEY,
    thought_id TEXT NOT NULL REFERENCES monologue_log (id),
    written_at REAL NOT NULL,
    text TEXT NOT NULL,
    reason TEXT NOT NULL,
    shown_at REAL,
    dismissed_at REAL,
    checksum BLOB NOT NULL,
    answered_in TEXT                     -- the pass of sleep that read the owner's answer before it was shown
) STRICT;
CREATE INDEX owner_notes_by_time ON owner_notes (written_at);
CREATE INDEX owner_notes_by_thought ON owner_notes (thought_id);

CREATE TABLE circuit_breaker_events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    happened_at REAL NOT NULL,
    source TEXT NOT NULL CHECK (source IN ('monologue', 'conversation', 'consolidation')),
    action TEXT NOT NULL,
    reason TEXT NOT NULL,
    severity TEXT NOT NULL,
    explanation TEXT NOT NULL,
    buffer_snapshot TEXT NOT NULL,
    response_taken TEXT NOT NULL
) STRICT;
CREATE INDEX circuit_breaker_events_by_time ON circuit_breaker_events (happened_at);

CREATE TABLE tripwire_events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    happened_at REAL NOT NULL,
    indicator TEXT NOT NULL,
    excerpt TEXT NOT NULL,
    monologue_state TEXT NOT NULL
) STRICT;
CREATE INDEX tripwire_events_by_time ON tripwire_events (indicator, happened_at);

CREATE TABLE consolidation_runs (
    id TEXT PRIMARY KEY,
    depth TEXT NOT NULL CHECK (depth IN ('light', 'deep')),
    trigger TEXT NOT NULL,
    began_at REAL NOT NULL,
    ended_at REAL,
    processed INTEGER NOT NULL DEFAULT 0,
    created INTEGER NOT NULL DEFAULT 0,
    merged INTEGER NOT NULL DEFAULT 0,
    fallbacks INTEGER NOT NULL DEFAULT 0,
    outcome TEXT NOT NULL DEFAULT 'running'
) STRICT;
CREATE INDEX consolidation_runs_by_time ON consolidation_runs (began_at);

-- The changes of a run, in order, with the previous values: the diff, and the data to undo it.
CREATE TABLE consolidation_changes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL REFERENCES consolidation_runs (id),
    experience_id TEXT REFERENCES raw_experiences (id),
    change_set TEXT NOT NULL CHECK (json_valid(change_set)),
    log TEXT NOT NULL
) STRICT;
CREATE INDEX consolidation_changes_by_run ON consolidation_changes (run_id, id);

-- Undone runs, and the run that undid each.
CREATE TABLE consolidation_undone (
    run_id TEXT PRIMARY KEY REFERENCES consolidation_runs (id),
    undo_id TEXT NOT NULL UNIQUE REFERENCES consolidation_runs (id),
    undone_at REAL NOT NULL
) STRICT, WITHOUT ROWID;

-- Vectors that a change replaced. Of one model: after a change of the embedder they are re-embedded.
CREATE TABLE consolidation_vectors (
    change_id INTEGER NOT NULL REFERENCES consolidation_changes (id),
    episode_id TEXT NOT NULL,
    model_id TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (change_id, episode_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX consolidation_vectors_by_episode ON consolidation_vectors (episode_id);

-- A change that a run would make next but has not made: it waits for the owner's decision. `answer`: the model's, validated.
CREATE TABLE consolidation_pending (
    run_id TEXT PRIMARY KEY REFERENCES consolidation_runs (id),
    experience_id TEXT NOT NULL REFERENCES raw_experiences (id),
    asked_at REAL NOT NULL,
    question TEXT NOT NULL,
    answer TEXT NOT NULL CHECK (json_valid(answer))
) STRICT, WITHOUT ROWID;
CREATE INDEX consolidation_pending_by_experience ON consolidation_pending (experience_id);

-- Experiences that sleep processes again only on the owner's request: its changes from them were undone or refused.
CREATE TABLE held_experiences (
    experience_id TEXT PRIMARY KEY REFERENCES raw_experiences (id),
    held_at REAL NOT NULL,
    why TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Claims: someone states a value for a subject and a relation, of which only one can hold now.
CREATE TABLE claims (
    id TEXT PRIMARY KEY,
    subject TEXT NOT NULL,
    relation TEXT NOT NULL,
    value TEXT NOT NULL,
    quote TEXT NOT NULL,           -- the sentence, word for word
    is_change INTEGER NOT NULL CHECK (is_change IN (0, 1)),   -- it says itself that something is different now
    turn_id TEXT NOT NULL,         -- a turn, or a passage of an experience that has none
    experience_id TEXT NOT NULL REFERENCES raw_experiences (id),
    speaker TEXT NOT NULL,
    said_at REAL NOT NULL,
    found_by TEXT NOT NULL CHECK (found_by IN ('pattern', 'model')),
    origin TEXT NOT NULL CHECK (origin IN ('owner', 'self', 'tool', 'document', 'channel', 'system')),
    tainted INTEGER NOT NULL CHECK (tainted IN (0, 1)),
    checksum BLOB NOT NULL
) STRICT;
CREATE INDEX claims_by_experience ON claims (experience_id);

-- Two claims of which only one can hold. An update ranks the earlier below the later; a contradiction waits to be settled.
CREATE TABLE claim_conflicts (
    id TEXT PRIMARY KEY,
    earlier_id TEXT NOT NULL REFERENCES claims (id),
    later_id TEXT NOT NULL REFERENCES claims (id),
    kind TEXT NOT NULL CHECK (kind IN ('update', 'contradiction')),
    reason TEXT NOT NULL,
    found_at REAL NOT NULL,
    settled TEXT NOT NULL DEFAULT '' CHECK (settled IN ('', 'earlier', 'later', 'both')),
    settled_at REAL
) STRICT;
CREATE INDEX claim_conflicts_by_earlier ON claim_conflicts (earlier_id);
CREATE INDEX claim_conflicts_by_later ON claim_conflicts (later_id);

-- One row per call: reserved before it, settled after it. A row that was never settled keeps its worst case.
-- `outcome`: reserved (it is running), answered, broken off, released (never made), not believed (the usage that the
-- provider reported is impossible or not trusted: the worst case is charged); and without `settled_at`: usage unknown
-- (not reported), expired (it can no longer be running and was never settled).
CREATE TABLE usage_ledger (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    reserved_at REAL NOT NULL,
    settled_at REAL,
    role TEXT NOT NULL,
    model TEXT NOT NULL,
    reserved_tokens INTEGER NOT NULL,
    reserved_microdollars INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL DEFAULT 0,
    cached_tokens INTEGER NOT NULL DEFAULT 0,
    completion_tokens INTEGER NOT NULL DEFAULT 0,
    microdollars INTEGER NOT NULL DEFAULT 0,
    price_version TEXT NOT NULL,
    outcome TEXT NOT NULL DEFAULT 'reserved',
    project_id TEXT,               -- whose work it was; null: nobody's
    reasoning_tokens INTEGER NOT NULL DEFAULT 0   -- of the completion: hidden, not part of the answer
) STRICT;
CREATE INDEX usage_ledger_by_time ON usage_ledger (reserved_at, role);
CREATE INDEX usage_ledger_open ON usage_ledger (reserved_at) WHERE outcome = 'reserved';

-- State of failing providers, kept across restarts, so that a restarted daemon does not flood them with calls.
CREATE TABLE provider_circuits (
    provider TEXT PRIMARY KEY,
    failures INTEGER NOT NULL,
    pauses INTEGER NOT NULL,
    opened_at REAL,                 -- null: it is closed
    failed_at REAL NOT NULL,
    next_try_at REAL NOT NULL,      -- of thinking and sleep
    asked_until REAL NOT NULL,      -- of everybody
    last_fault TEXT NOT NULL,
    last_error TEXT NOT NULL
) STRICT;

-- How often each model's answers have the requested form (R-113).
CREATE TABLE structured_answers (
    model TEXT PRIMARY KEY,
    valid INTEGER NOT NULL DEFAULT 0,
    repaired INTEGER NOT NULL DEFAULT 0,   -- valid after it was shown what was wrong
    failed INTEGER NOT NULL DEFAULT 0,
    schema_refused_at REAL                 -- when it last refused a JSON schema; null: never
) STRICT;

-- Results of each model's tier test (llm/tier.py). A model without a row was never tested.
CREATE TABLE model_tiers (
    model TEXT PRIMARY KEY,
    tier INTEGER NOT NULL CHECK (tier IN (0, 1, 2)),
    tested_at REAL NOT NULL,
    scores TEXT NOT NULL CHECK (json_valid(scores))   -- by group of tasks: how many were right, of how many
) STRICT;

CREATE TABLE schedule (
    job TEXT PRIMARY KEY,
    next_run_at REAL NOT NULL,
    last_run_at REAL,
    last_outcome TEXT NOT NULL DEFAULT ''
) STRICT;

-- dormant: what is only on disk and found by a deep search: the summaries of dormant episodes, their turns, and offloaded
-- turns. A copy of the text, so that erasing a row here erases it from the word index too.
CREATE TABLE deep_texts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL CHECK (kind IN ('episode', 'turn')),
    owner_id TEXT NOT NULL,
    experience_id TEXT REFERENCES raw_experiences (id),   -- of a turn: leads to its episode, wherever that one went
    speaker TEXT NOT NULL,
    text TEXT NOT NULL,
    said_at REAL NOT NULL,
    origin TEXT NOT NULL CHECK (origin IN ('owner', 'self', 'tool', 'document', 'channel', 'system')),
    tainted INTEGER NOT NULL CHECK (tainted IN (0, 1)),
    checksum BLOB NOT NULL,
    UNIQUE (kind, owner_id)
) STRICT;
CREATE INDEX deep_texts_by_experience ON deep_texts (experience_id);
CREATE VIRTUAL TABLE deep_words USING fts5 (
    speaker, text, content = 'deep_texts', content_rowid = 'id', tokenize = 'porter unicode61'
);
CREATE TRIGGER deep_texts_insert_words AFTER INSERT ON deep_texts
BEGIN INSERT INTO deep_words (rowid, speaker, text) VALUES (new.id, new.speaker, new.text); END;
CREATE TRIGGER deep_texts_delete_words AFTER DELETE ON deep_texts
BEGIN INSERT INTO deep_words (deep_words, rowid, speaker, text) VALUES ('delete', old.id, old.speaker, old.text); END;

-- If sqlite-vec can be loaded, the vectors of deep_texts are also in deep_vectors_<number>, one table per model. These
-- tables can be rebuilt from `vectors` at any time.
CREATE TABLE deep_vector_tables (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    model_id TEXT NOT NULL UNIQUE,
    dimensions INTEGER NOT NULL,
    is_whole INTEGER NOT NULL DEFAULT 0 CHECK (is_whole IN (0, 1))
) STRICT;

CREATE TABLE dormancy_log (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    episode_id TEXT NOT NULL REFERENCES episodes (id),
    happened_at REAL NOT NULL,
    became TEXT NOT NULL CHECK (became IN ('dormant', 'awake')),
    reason TEXT NOT NULL
) STRICT;
CREATE INDEX dormancy_log_by_episode ON dormancy_log (episode_id);

-- the owner's hand on episodes:
-- Episodes that the owner pinned: no decay, no dormancy. The pin of a merged episode moves to its target (pins.homes).
CREATE TABLE pinned_episodes (
    episode_id TEXT PRIMARY KEY REFERENCES episodes (id) ON DELETE CASCADE,
    pinned_at REAL NOT NULL
) STRICT;

-- Rows that changed since a snapshot of the live memory was taken, by any writer: a wake reads only those rows again
-- (memory/snapshots.py). `mark` is random, and is in the snapshot too; it is no counter, because an old backup could reach
-- the same count. An epoch begins with the mark of a snapshot; what changed in it, or later, is not in that snapshot.
-- Without a mark nothing is recorded. Only vectors in use count; when another model's come into use, every mark ends.
CREATE TABLE snapshot_marks (
    epoch INTEGER PRIMARY KEY,
    mark BLOB NOT NULL
) STRICT;
CREATE TABLE changed_rows (
    kind TEXT NOT NULL CHECK (kind IN ('episode', 'standing', 'links', 'unlinked', 'turn', 'experience')),
    id TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;
CREATE VIEW noted AS SELECT kind, id FROM changed_rows;
CREATE TRIGGER noted_in_this_epoch INSTEAD OF INSERT ON noted WHEN EXISTS (SELECT 1 FROM snapshot_marks)
BEGIN
    INSERT INTO changed_rows VALUES (new.kind, new.id, (SELECT max(epoch) FROM snapshot_marks))
    ON CONFLICT (kind, id) DO UPDATE SET epoch = excluded.epoch WHERE epoch <> excluded.epoch;
END;
CREATE TRIGGER episodes_insert_noted AFTER INSERT ON episodes
BEGIN INSERT INTO noted VALUES ('episode', new.id); END;
CREATE TRIGGER episodes_delete_noted AFTER DELETE ON episodes
BEGIN INSERT INTO noted VALUES ('episode', old.id); END;
CREATE TRIGGER episodes_update_noted AFTER UPDATE OF
    created_at, ended_at, summary, exemplars, temporal_before, temporal_after, gap, confidence, valence, topics, entities,
    conversation_id, depth, merged_into, origin, tainted, dormant ON episodes
BEGIN INSERT INTO noted VALUES ('episode', new.id); END;
CREATE TRIGGER episodes_standing_noted AFTER UPDATE OF
    access_count, last_accessed_at, salience, accessibility, last_decayed_at ON episodes
BEGIN INSERT INTO noted VALUES ('standing', new.id); END;
CREATE TRIGGER episode_sources_insert_noted AFTER INSERT ON episode_sources
BEGIN
    INSERT INTO noted VALUES ('episode', new.episode_id);
    INSERT INTO noted VALUES ('experience', new.experience_id);
END;
CREATE TRIGGER episode_sources_update_noted AFTER UPDATE ON episode_sources
BEGIN
    INSERT INTO noted VALUES ('episode', old.episode_id);
    INSERT INTO noted VALUES ('experience', old.experience_id);
    INSERT INTO noted VALUES ('episode', new.episode_id);
    INSERT INTO noted VALUES ('experience', new.experience_id);
END;
CREATE TRIGGER episode_sources_delete_noted AFTER DELETE ON episode_sources
BEGIN
    INSERT INTO noted VALUES ('episode', old.episode_id);
    INSERT INTO noted VALUES ('experience', old.experience_id);
END;
CREATE TRIGGER episode_links_insert_noted AFTER INSERT ON episode_links
BEGIN INSERT INTO noted VALUES ('links', new.from_id); END;
CREATE TRIGGER episode_links_strength_noted AFTER UPDATE OF strength ON episode_links
BEGIN INSERT INTO noted VALUES ('links', new.from_id); END;
CREATE TRIGGER episode_links_update_noted AFTER UPDATE OF from_id, to_id, type ON episode_links
BEGIN
    INSERT INTO noted VALUES ('unlinked', old.from_id);
    INSERT INTO noted VALUES ('links', new.from_id);
END;
CREATE TRIGGER episode_links_delete_noted AFTER DELETE ON episode_links
BEGIN INSERT INTO noted VALUES ('unlinked', old.from_id); END;
CREATE TRIGGER vectors_insert_noted AFTER INSERT ON vectors
WHEN new.model_id = (SELECT model_id FROM embedding_space)
BEGIN INSERT INTO noted VALUES (new.owner_kind, new.owner_id); END;
CREATE TRIGGER vectors_update_noted AFTER UPDATE ON vectors
WHEN (SELECT model_id FROM embedding_space) IN (old.model_id, new.model_id)
BEGIN
    INSERT INTO noted VALUES (old.owner_kind, old.owner_id);
    INSERT INTO noted VALUES (new.owner_kind, new.owner_id);
END;
CREATE TRIGGER vectors_delete_noted AFTER DELETE ON vectors
WHEN old.model_id = (SELECT model_id FROM embedding_space)
BEGIN INSERT INTO noted VALUES (old.owner_kind, old.owner_id); END;
CREATE TRIGGER turns_insert_noted AFTER INSERT ON turns
WHEN EXISTS (SELECT 1 FROM episode_sources WHERE experience_id = new.experience_id)
BEGIN INSERT INTO noted VALUES ('experience', new.experience_id); END;
CREATE TRIGGER turns_update_noted AFTER UPDATE OF
    conversation_id, experience_id, position, origin, tainted, speaker, text, said_at, is_partial, echoes ON turns
WHEN EXISTS (SELECT 1 FROM episode_sources WHERE experience_id IN (old.experience_id, new.experience_id))
BEGIN
    INSERT INTO noted VALUES ('turn', new.id);
    INSERT INTO noted VALUES ('experience', coalesce(old.experience_id, new.experience_id));
    INSERT INTO noted VALUES ('experience', coalesce(new.experience_id, old.experience_id));
END;
CREATE TRIGGER turns_delete_noted AFTER DELETE ON turns
WHEN old.experience_id IS NOT NULL
BEGIN
    INSERT INTO noted VALUES ('turn', old.id);
    INSERT INTO noted VALUES ('experience', old.experience_id);
END;
CREATE TRIGGER raw_experiences_update_noted
AFTER UPDATE OF kind, happened_at, content, metadata, origin, tainted ON raw_experiences
BEGIN INSERT INTO noted VALUES ('experience', new.id); END;
CREATE TRIGGER raw_experiences_delete_noted AFTER DELETE ON raw_experiences
BEGIN INSERT INTO noted VALUES ('experience', old.id); END;
CREATE TRIGGER deep_texts_insert_noted AFTER INSERT ON deep_texts
BEGIN INSERT INTO noted VALUES (new.kind, new.owner_id); END;
CREATE TRIGGER deep_texts_delete_noted AFTER DELETE ON deep_texts
BEGIN INSERT INTO noted VALUES (old.kind, old.owner_id); END;
CREATE TRIGGER embedding_space_insert_ends_marks AFTER INSERT ON embedding_space
BEGIN
    DELETE FROM snapshot_marks;
    DELETE FROM changed_rows;
END;
CREATE TRIGGER embedding_space_update_ends_marks AFTER UPDATE OF model_id ON embedding_space
BEGIN
    DELETE FROM snapshot_marks;
    DELETE FROM changed_rows;
END;
CREATE TRIGGER embedding_space_delete_ends_marks AFTER DELETE ON embedding_space
BEGIN
    DELETE FROM snapshot_marks;
    DELETE FROM changed_rows;
END;

-- forgetting:
-- What the owner erased: when, how much of each kind, and keyed hashes; nothing of the content.
CREATE TABLE erasures (
    id TEXT PRIMARY KEY,
    erased_at REAL NOT NULL,
    chosen_by TEXT NOT NULL CHECK (chosen_by IN ('id', 'matching', 'about', 'time')),
    hash_key BLOB NOT NULL,        -- one for the whole mind
    counts TEXT NOT NULL CHECK (json_valid(counts))
) STRICT;
CREATE TABLE tombstones (
    kind TEXT NOT NULL CHECK (kind IN ('id', 'text', 'words')),
    hash BLOB NOT NULL,
    words INTEGER NOT NULL DEFAULT 0,   -- of how many words in a row, for those of words
    erasure_id TEXT NOT NULL REFERENCES erasures (id),
    PRIMARY KEY (kind, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX tombstones_by_erasure ON tombstones (erasure_id);
-- provenance (F1, F3):
-- The origin of a text never changes, and what is tainted stays tainted: an episode as long as one of its sources is. A row
-- derived from tainted rows must be written as tainted.
CREATE TRIGGER turns_origin_stays BEFORE UPDATE OF origin ON turns WHEN new.origin <> old.origin
BEGIN SELECT raise(ABORT, 'an origin never changes'); END;
CREATE TRIGGER raw_experiences_origin_stays BEFORE UPDATE OF origin ON raw_experiences WHEN new.origin <> old.origin
BEGIN SELECT raise(ABORT, 'an origin never changes'); END;
CREATE TRIGGER episodes_origin_stays BEFORE UPDATE OF origin ON episodes WHEN new.origin <> old.origin
BEGIN SELECT raise(ABORT, 'an origin never changes'); END;
CREATE TRIGGER claims_origin_stays BEFORE UPDATE OF origin ON claims WHEN new.origin <> old.origin
BEGIN SELECT raise(ABORT, 'an origin never changes'); END;
CREATE TRIGGER deep_texts_origin_stays BEFORE UPDATE OF origin ON deep_texts WHEN new.origin <> old.origin
BEGIN SELECT raise(ABORT, 'an origin never changes'); END;
CREATE TRIGGER turns_taint_stays BEFORE UPDATE OF tainted ON turns WHEN new.tainted < old.tainted
BEGIN SELECT raise(ABORT, 'a taint never goes'); END;
CREATE TRIGGER raw_experiences_taint_stays BEFORE UPDATE OF tainted ON raw_experiences WHEN new.tainted < old.tainted
BEGIN SELECT raise(ABORT, 'a taint never goes'); END;
CREATE TRIGGER claims_taint_stays BEFORE UPDATE OF tainted ON claims WHEN new.tainted < old.tainted
BEGIN SELECT raise(ABORT, 'a taint never goes'); END;
CREATE TRIGGER deep_texts_taint_stays BEFORE UPDATE OF tainted ON deep_texts WHEN new.tainted < old.tainted
BEGIN SELECT raise(ABORT, 'a taint never goes'); END;
CREATE TRIGGER monologue_log_taint_stays BEFORE UPDATE OF tainted ON monologue_log WHEN new.tainted < old.tainted
BEGIN SELECT raise(ABORT, 'a taint never goes'); END;
CREATE TRIGGER episodes_taint_stays BEFORE UPDATE OF tainted ON episodes
WHEN new.tainted < old.tainted AND EXISTS (
    SELECT 1 FROM episode_sources JOIN raw_experiences ON raw_experiences.id = episode_sources.experience_id
    WHERE episode_sources.episode_id = new.id AND raw_experiences.tainted = 1
)
BEGIN SELECT raise(ABORT, 'a taint never goes'); END;
-- the doors (F3):
-- Triggers also check each row as it is inserted, whatever code wrote it. Words of the owner are inserted alone: as said in
-- the chat, or by the key of their line in an import; never as part of an exchange, because replies are. A row derived
-- from tainted text must be tainted, wherever it names its sources and these do not change. (What was in a prompt is named
-- only in `recalled`, and an episode may have become tainted since; the self-model names episodes, but is made only of
-- the owner's words in them.) The import of a whole mind runs without these triggers; db/mind_file.py checks its taints.
-- One trigger for each table, because each costs time.
CREATE TRIGGER turns_guarded BEFORE INSERT ON turns
BEGIN
    SELECT CASE
        WHEN new.origin = 'owner' AND (
            new.experience_id IS NOT NULL OR new.is_partial = 1
            OR (new.import_key IS NULL) <> (SELECT source = 'chat' FROM conversations WHERE id = new.conversation_id)
        ) THEN raise(ABORT, 'nobody else speaks in the name of the owner')
        WHEN new.tainted = 0 AND new.origin IN ('tool', 'document', 'channel')
        THEN raise(ABORT, 'what others wrote is tainted')
        WHEN new.tainted = 1 AND (SELECT tainted FROM raw_experiences WHERE id = new.experience_id) = 0
        THEN raise(ABORT, 'what is made of tainted text is tainted')
    END;
END;
CREATE TRIGGER turns_adoption_guarded BEFORE UPDATE OF experience_id ON turns
WHEN new.tainted = 1 AND (SELECT tainted FROM raw_experiences WHERE id = new.experience_id) = 0
BEGIN SELECT raise(ABORT, 'what is made of tainted text is tainted'); END;
CREATE TRIGGER raw_experiences_guarded BEFORE INSERT ON raw_experiences
BEGIN
    SELECT CASE
        WHEN new.origin = 'owner' AND new.kind <> 'conversation'
        THEN raise(ABORT, 'nobody else speaks in the name of the owner')
        WHEN new.tainted = 0 AND new.origin IN ('tool', 'document', 'channel')
        THEN raise(ABORT, 'what others wrote is tainted')
    END;
END;
CREATE TRIGGER episodes_guarded BEFORE INSERT ON episodes
BEGIN
    SELECT CASE
        WHEN new.tainted = 0 AND new.origin IN ('tool', 'document', 'channel')
        THEN raise(ABORT, 'what others wrote is tainted')
        WHEN new.tainted = 1 AND (SELECT tainted FROM episodes WHERE id = new.merged_into) = 0
        THEN raise(ABORT, 'what is made of tainted text is tainted')
    END;
END;
CREATE TRIGGER episodes_merger_guarded BEFORE UPDATE OF merged_into ON episodes
WHEN new.tainted = 1 AND (SELECT tainted FROM episodes WHERE id = new.merged_into) = 0
BEGIN SELECT raise(ABORT, 'what is made of tainted text is tainted'); END;
CREATE TRIGGER episode_sources_guarded BEFORE INSERT ON episode_sources
WHEN (SELECT tainted FROM raw_experiences WHERE id = new.experience_id) = 1
    AND (SELECT tainted FROM episodes WHERE id = new.episode_id) = 0
BEGIN SELECT raise(ABORT, 'what is made of tainted text is tainted'); END;
CREATE TRIGGER claims_guarded BEFORE INSERT ON claims
BEGIN
    SELECT CASE
        WHEN new.origin <> coalesce(
            (SELECT origin FROM turns WHERE id = new.turn_id),
            (SELECT origin FROM raw_experiences WHERE id = new.experience_id)
        ) THEN raise(ABORT, 'nobody else speaks in the name of the owner')
        WHEN new.tainted < coalesce(
            (SELECT tainted FROM turns WHERE id = new.turn_id),
            (SELECT tainted FROM raw_experiences WHERE id = new.experience_id)
        ) THEN raise(ABORT, 'what is made of tainted text is tainted')
    END;
END;
CREATE TRIGGER deep_texts_guarded BEFORE INSERT ON deep_texts
BEGIN
    SELECT CASE
        WHEN new.origin <> CASE new.kind
            WHEN 'episode' THEN (SELECT origin FROM episodes WHERE id = new.owner_id)
            ELSE coalesce(
                (SELECT origin FROM turns WHERE id = new.owner_id),
                (SELECT origin FROM raw_experiences WHERE id = new.experience_id)
            )
        END THEN raise(ABORT, 'nobody else speaks in the name of the owner')
        WHEN new.tainted < CASE new.kind
            WHEN 'episode' THEN (SELECT tainted FROM episodes WHERE id = new.owner_id)
            ELSE coalesce(
                (SELECT tainted FROM turns WHERE id = new.owner_id),
                (SELECT tainted FROM raw_experiences WHERE id = new.experience_id)
            )
        END THEN raise(ABORT, 'what is made of tainted text is tainted')
    END;
END;
CREATE TRIGGER monologue_log_guarded BEFORE INSERT ON monologue_log
WHEN new.tainted <> (SELECT tainted FROM raw_experiences WHERE id = new.experience_id)
BEGIN SELECT raise(ABORT, 'what is made of tainted text is tainted'); END;
CREATE TRIGGER owner_notes_guarded BEFORE INSERT ON owner_notes
WHEN (SELECT tainted FROM monologue_log WHERE id = new.thought_id) = 1
BEGIN SELECT raise(ABORT, 'nothing tainted reaches the owner by itself'); END;

-- projects:
-- Projects: what the owner gave the mind to work on. Terms: docs/explain/glossary.md. `foreign_sources` lists the untrusted
-- sources of a row (documents, hosts and programs); `tainted` follows from it.
CREATE TABLE projects (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL COLLATE NOCASE,
    state TEXT NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'paused', 'archived')),
    created_at REAL NOT NULL,
    last_wake_at REAL,
    last_worked_at REAL,
    rested_because TEXT NOT NULL DEFAULT '',   -- why its last wake ended: 'done', 'waiting for you', 'budget' and so on
    rewrite_due TEXT NOT NULL DEFAULT '',      -- what made a new orientation due, and is not written yet
    folder TEXT NOT NULL DEFAULT '',           -- the one folder that its tools see; empty: none
    may_write INTEGER NOT NULL DEFAULT 0 CHECK (may_write IN (0, 1))     -- whether they may change it
) STRICT;
CREATE UNIQUE INDEX projects_by_name ON projects (name) WHERE name <> '(erased)';

-- The goals of a project, in the owner's words. One is active; the next waits until the current task is done.
CREATE TABLE goals (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    text TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'active', 'past')),
    said_at REAL NOT NULL,
    applied_at REAL,
    dollars_limit REAL,            -- null: what the budget leaves
    checksum BLOB NOT NULL
) STRICT;
CREATE INDEX goals_by_project ON goals (project_id, said_at);
CREATE UNIQUE INDEX goals_active ON goals (project_id) WHERE state = 'active';

-- Orientations: the state of a project on one page; the newest version counts.
CREATE TABLE orientation (
    project_id TEXT NOT NULL REFERENCES projects (id),
    version INTEGER NOT NULL,
    content TEXT NOT NULL CHECK (json_valid(content)),
    trigger TEXT NOT NULL,
    written_at REAL NOT NULL,
    foreign_sources TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(foreign_sources)),
    tainted INTEGER NOT NULL GENERATED ALWAYS AS (foreign_sources <> '[]') STORED,
    checksum BLOB NOT NULL,
    reverted_to INTEGER,                       -- the earlier version that the owner went back to; null: written anew
    PRIMARY KEY (project_id, version)
) STRICT;

CREATE TABLE tasks (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    goal_id TEXT REFERENCES goals (id),
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('find_out', 'read', 'compare', 'write', 'ask', 'other')),
    status TEXT NOT NULL CHECK (status IN ('ready', 'in_progress', 'blocked', 'done', 'dropped')),
    skill_area TEXT NOT NULL DEFAULT '',
    rests_on TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(rests_on)),     -- ids of chunks
    outcome TEXT NOT NULL DEFAULT '',
    audit TEXT NOT NULL DEFAULT '',            -- what was said of the last outcome
    tries INTEGER NOT NULL DEFAULT 0,
    failure TEXT NOT NULL DEFAULT '',          -- why the last try failed: the next one is told
    held_because TEXT NOT NULL DEFAULT '',     -- what it rests on fell before it was begun
    flagged_because TEXT NOT NULL DEFAULT '',  -- the same, after it was done
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    started_at REAL,
    completed_at REAL,
    foreign_sources TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(foreign_sources)),
    tainted INTEGER NOT NULL GENERATED ALWAYS AS (foreign_sources <> '[]') STORED,
    checksum BLOB NOT NULL,
    try_began_at REAL,             -- when the try under way began, broken off and taken up again or not; null: none is
    due TEXT NOT NULL DEFAULT '',  -- a day, or a day with a time, where the owner is; empty: none
    made_by TEXT NOT NULL DEFAULT 'mind' CHECK (made_by IN ('mind', 'owner', 'program')),
    is_mine INTEGER NOT NULL DEFAULT 0 CHECK (is_mine IN (0, 1)),   -- the owner does it: nobody else works on it
    repeats TEXT NOT NULL DEFAULT '',      -- when it comes back: '2 week', or the five fields of cron; empty: never
    position REAL,                         -- its place as the owner put it; null: behind those with one
    files TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(files)),     -- those of the folder that it made or used, hashed
    audited_by TEXT NOT NULL DEFAULT '' CHECK (audited_by IN ('', 'audit', 'owner', 'program'))  -- who said it in `audit`
) STRICT;
CREATE INDEX tasks_by_project ON tasks (project_id, status);

CREATE TABLE proposals (             -- tasks that notes suggest; nothing begins before the owner accepts one
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    title TEXT NOT NULL,
    due TEXT NOT NULL DEFAULT '',          -- a day, or a day with a time, where the owner is: 2026-12-08T14:00
    state TEXT NOT NULL CHECK (state IN ('proposed', 'accepted', 'dismissed', 'gone')),
    document TEXT NOT NULL,
    line INTEGER NOT NULL,                 -- from 1
    source_line TEXT NOT NULL,             -- the line that it was read from: while it is unchanged, it comes once
    task_id TEXT REFERENCES tasks (id),    -- what it became when it was accepted
    created_at REAL NOT NULL,
    decided_at REAL,
    foreign_sources TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(foreign_sources)),
    tainted INTEGER NOT NULL GENERATED ALWAYS AS (foreign_sources <> '[]') STORED,
    checksum BLOB NOT NULL,
    UNIQUE (project_id, document, source_line)
) STRICT;
CREATE INDEX proposals_by_task ON proposals (task_id);

CREATE TABLE decided_conflicts (     -- what was decided of two lines of notes that do not, or may not, go together
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    a_document TEXT NOT NULL,
    a_text TEXT NOT NULL,                  -- while both lines are unchanged, the decision stands
    b_document TEXT NOT NULL,
    b_text TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('dismissed', 'kept_a', 'kept_b', 'confirmed', 'denied')),
    decided_by TEXT NOT NULL CHECK (decided_by IN ('owner', 'model')),
    reason TEXT NOT NULL DEFAULT '',
    model TEXT NOT NULL DEFAULT '',        -- the name of the model that judged
    rests_on TEXT NOT NULL CHECK (json_valid(rests_on)),       -- ids of the chunks that the lines stand in
    decided_at REAL NOT NULL,
    foreign_sources TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(foreign_sources)),
    tainted INTEGER NOT NULL GENERATED ALWAYS AS (foreign_sources <> '[]') STORED,
    checksum BLOB NOT NULL,
    UNIQUE (project_id, a_document, a_text, b_document, b_text)
) STRICT;

CREATE TABLE reminders (             -- what the owner was reminded of, once for each day that a task is due on
    task_id TEXT NOT NULL REFERENCES tasks (id),
    due TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('day_before', 'on_day')),
    made_at REAL NOT NULL,
    shown_at REAL,                 -- null: nobody was there yet
    PRIMARY KEY (task_id, due, kind)
) STRICT;

CREATE TABLE wishes (                -- changes that the owner's words in a conversation ask for, after a yes
    id TEXT PRIMARY KEY,
    project_id TEXT REFERENCES projects (id),      -- null: a project to be begun
    task_id TEXT REFERENCES tasks (id),
    question_id TEXT REFERENCES questions (id),    -- the one that is answered
    action TEXT NOT NULL CHECK (action IN ('move', 'drop', 'start', 'done', 'add', 'goal', 'answer', 'begin', 'pursue')),
    title TEXT NOT NULL DEFAULT '',        -- of a task or project to be made; the goal; the answer
    due TEXT NOT NULL DEFAULT '',          -- the new day
    state TEXT NOT NULL CHECK (state IN ('proposed', 'applied', 'declined')),
    created_at REAL NOT NULL,
    decided_at REAL,
    checksum BLOB NOT NULL,
    CHECK (project_id IS NOT NULL OR action IN ('begin', 'pursue')),
    CHECK (question_id IS NOT NULL OR action <> 'answer')
) STRICT;
CREATE INDEX wishes_by_state ON wishes (state);
CREATE INDEX wishes_by_project ON wishes (project_id);
CREATE INDEX wishes_by_task ON wishes (task_id);
CREATE INDEX wishes_by_question ON wishes (question_id);

CREATE TABLE task_needs (
    task_id TEXT NOT NULL REFERENCES tasks (id),
    needs_id TEXT NOT NULL REFERENCES tasks (id),
    PRIMARY KEY (task_id, needs_id),
    CHECK (task_id <> needs_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE questions (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    task_id TEXT REFERENCES tasks (id),        -- whose work asked
    kind TEXT NOT NULL CHECK (kind IN ('question', 'decision', 'approval')),
    question TEXT NOT NULL,
    context TEXT NOT NULL DEFAULT '',
    context_tags TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(context_tags)),
    status TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'answered', 'dropped')),
    answer TEXT NOT NULL DEFAULT '',
    asked_at REAL NOT NULL,
    answered_at REAL,
    noted_at REAL,                             -- when its answer became a chunk
    foreign_sources TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(foreign_sources)),
    tainted INTEGER NOT NULL GENERATED ALWAYS AS (foreign_sources <> '[]') STORED,
    checksum BLOB NOT NULL,
    payload TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(payload))      -- of an approval: the call that waits for it
) STRICT;
CREATE INDEX questions_by_project ON questions (project_id, status);

CREATE TABLE question_blocks (
    question_id TEXT NOT NULL REFERENCES questions (id),
    task_id TEXT NOT NULL REFERENCES tasks (id),
    PRIMARY KEY (question_id, task_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE activities (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id TEXT NOT NULL REFERENCES projects (id),
    task_id TEXT REFERENCES tasks (id),
    action TEXT NOT NULL,
    details TEXT NOT NULL DEFAULT '',
    skill_area TEXT NOT NULL DEFAULT '',
    happened_at REAL NOT NULL
) STRICT;
CREATE INDEX activities_by_project ON activities (project_id, happened_at DESC);

-- Each call of a model or a tool within one try of a task: written before and after the call.
CREATE TABLE steps (
    task_id TEXT NOT NULL REFERENCES tasks (id),
    attempt INTEGER NOT NULL,
    position INTEGER NOT NULL,
    tool TEXT NOT NULL,
    arguments TEXT NOT NULL,
    result TEXT NOT NULL DEFAULT '',
    state TEXT NOT NULL CHECK (state IN ('begun', 'done', 'failed', 'unknown')),
    began_at REAL NOT NULL,
    ended_at REAL,
    foreign_sources TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(foreign_sources)),
    tainted INTEGER NOT NULL GENERATED ALWAYS AS (foreign_sources <> '[]') STORED,
    reach TEXT NOT NULL DEFAULT '' CHECK (reach IN ('', 'look', 'inside', 'out')),   -- of a tool; empty: a model's call
    exit_code INTEGER,                         -- of a command
    sha256 TEXT NOT NULL DEFAULT '',           -- of all that a command said, or of the file that was written
    path TEXT NOT NULL DEFAULT '',             -- of that file
    PRIMARY KEY (task_id, attempt, position)
) STRICT;

CREATE TABLE documents (             -- texts that the owner added, and files of the project's folder
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    origin TEXT NOT NULL CHECK (origin IN ('folder', 'added')),
    path TEXT NOT NULL,                    -- in the folder; of an added text: where it lies, or its name
    name TEXT NOT NULL,                    -- shown, and not that of another document of the project
    media_type TEXT NOT NULL DEFAULT '',
    sha256 TEXT NOT NULL DEFAULT '',       -- of its text as it was last read; empty: unknown, or some of it was erased
    bytes INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL DEFAULT 'present' CHECK (state IN ('present', 'gone')),
    is_trusted INTEGER NOT NULL CHECK (is_trusted IN (0, 1)),
    added_at REAL NOT NULL,
    original TEXT NOT NULL DEFAULT '',     -- SHA-256 of its file, by which the home keeps it; empty: it is not kept
    version INTEGER NOT NULL DEFAULT 1,    -- of the file: one more with each newer one
    reading TEXT NOT NULL DEFAULT 'complete'
        CHECK (reading IN ('pending', 'processing', 'complete', 'failed')),
    failure TEXT NOT NULL DEFAULT ''       -- why it could not be read; empty unless `failed`
        CHECK (failure IN (
            '', 'missing', 'encrypted', 'empty', 'truncated', 'damaged', 'wrong_suffix', 'unknown_format', 'too_large',
            'too_many_pages', 'no_page', 'too_slow', 'crashed', 'cannot_recognise'
        )),
    tries INTEGER NOT NULL DEFAULT 0,      -- how often its reading began
    page_count INTEGER NOT NULL DEFAULT 0  -- of its file; 0: unknown, or it is not read page by page
) STRICT;
CREATE INDEX documents_by_project ON documents (project_id);
CREATE INDEX documents_to_read ON documents (reading) WHERE reading IN ('pending', 'processing');

-- Chunks: each is one thing that a project knows.
CREATE TABLE chunks (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    title TEXT NOT NULL DEFAULT '',
    content TEXT NOT NULL,
    type TEXT NOT NULL CHECK (type IN ('research', 'insight', 'decision', 'resource', 'attempt', 'user_input')),
    tags TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(tags)),
    confidence TEXT NOT NULL CHECK (confidence IN ('verified', 'inferred', 'speculative')),
    source TEXT NOT NULL CHECK (source IN ('research', 'user', 'deduction', 'experiment')),
    rests_on TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(rests_on)),   -- ids of the chunks that it was made of
    task_id TEXT REFERENCES tasks (id),        -- whose work found it
    fell_because TEXT NOT NULL DEFAULT '',     -- contradicted or replaced: why; empty while it stands
    created_at REAL NOT NULL,
    last_accessed_at REAL NOT NULL,
    access_count INTEGER NOT NULL DEFAULT 0,
    last_useful_at REAL,
    foreign_sources TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(foreign_sources)),
    tainted INTEGER NOT NULL GENERATED ALWAYS AS (foreign_sources <> '[]') STORED,
    checksum BLOB NOT NULL,
    memory_type TEXT NOT NULL DEFAULT 'semantic'
        CHECK (memory_type IN ('episodic', 'semantic', 'procedural', 'preference')),
    pinned INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1)),
    valid_from REAL,
    valid_until REAL,
    source_confidence REAL NOT NULL DEFAULT 0.7 CHECK (source_confidence BETWEEN 0 AND 1),
    extraction_confidence REAL NOT NULL DEFAULT 0.7 CHECK (extraction_confidence BETWEEN 0 AND 1),
    initial_strength REAL NOT NULL DEFAULT 1.0 CHECK (initial_strength BETWEEN 0 AND 1),
    decay_function TEXT NOT NULL DEFAULT 'exponential' CHECK (decay_function IN ('exponential', 'linear')),
    decay_rate REAL NOT NULL DEFAULT 0.05 CHECK (decay_rate >= 0),
    superseded_by TEXT REFERENCES chunks (id) ON DELETE SET NULL,
    names TEXT CHECK (json_valid(names)),
    first_line INTEGER NOT NULL DEFAULT 0,     -- of its document, from 1; 0: not in its latest version, or unknown
    lead TEXT NOT NULL DEFAULT '',             -- the headings before it in its document, as they stand there
    written_on TEXT NOT NULL DEFAULT '',       -- the day on which its file last changed when it was first read
    document_id TEXT REFERENCES documents (id) ON DELETE SET NULL,     -- of a section
    fall TEXT NOT NULL DEFAULT ''              -- how it fell; empty while it stands
        CHECK (fall IN ('', 'left_document', 'retracted', 'contradicted', 'premise'))
) STRICT;
CREATE INDEX chunks_by_document ON chunks (document_id);
CREATE INDEX chunks_by_project ON chunks (project_id, type);
CREATE INDEX chunks_by_confidence ON chunks (project_id, confidence);

CREATE TABLE pages (                 -- of documents that are read page by page: pages, sheets, slides
    id TEXT PRIMARY KEY,
    document_id TEXT NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    version INTEGER NOT NULL,              -- of the file that it was read from
    number INTEGER NOT NULL,               -- in the file, from 1
    label TEXT NOT NULL DEFAULT '',        -- what is printed on it: "iv", "A2.01"
    section TEXT NOT NULL DEFAULT '',      -- the part of the document that it belongs to
    kind TEXT NOT NULL DEFAULT '',
    width REAL NOT NULL,                   -- in points, as it is shown
    height REAL NOT NULL,
    rotation INTEGER NOT NULL DEFAULT 0,
    text TEXT NOT NULL,                    -- verbatim: quotes are checked against it
    text_from TEXT NOT NULL CHECK (text_from IN ('layer', 'ocr', 'none')),
    recognition TEXT NOT NULL DEFAULT 'none'   -- of its picture, whose words its text may lack
        CHECK (recognition IN ('none', 'pending', 'complete', 'failed')),
    outline TEXT NOT NULL DEFAULT '',      -- what stands on it, in a few lines
    cross_references TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(cross_references)),
    checksum BLOB NOT NULL,
    UNIQUE (document_id, version, number)
) STRICT;
CREATE INDEX pages_to_recognise ON pages (recognition) WHERE recognition = 'pending';

CREATE TABLE pointers (              -- chunks that have a place on a page
    chunk_id TEXT PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
    page_id TEXT REFERENCES pages (id) ON DELETE SET NULL,              -- where it begins; null: no page has it now
    position INTEGER NOT NULL,             -- on that page, from 1
    kind TEXT NOT NULL,
    title TEXT NOT NULL DEFAULT '',        -- its own, without where it stands
    cross_references TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(cross_references))
) STRICT;
CREATE INDEX pointers_by_page ON pointers (page_id, position);

CREATE TABLE pointer_boxes (         -- in parts of a page's width and height, from its top left; some go on overleaf
    pointer_id TEXT NOT NULL REFERENCES pointers (chunk_id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    page_number INTEGER NOT NULL,          -- in the document of its pointer
    x REAL NOT NULL CHECK (x BETWEEN 0 AND 1),
    y REAL NOT NULL CHECK (y BETWEEN 0 AND 1),
    width REAL NOT NULL CHECK (width BETWEEN 0 AND 1),
    height REAL NOT NULL CHECK (height BETWEEN 0 AND 1),
    PRIMARY KEY (pointer_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE citations (             -- what a reply rests on, as it was shown
    turn_id TEXT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    pointer_id TEXT REFERENCES chunks (id) ON DELETE CASCADE,           -- null: it was not offered
    short_id TEXT NOT NULL,                -- by which it was offered: d3.p12.b2
    state TEXT NOT NULL CHECK (state IN ('on_page', 'not_on_page', 'not_offered', 'not_in_documents')),
    made_by TEXT NOT NULL CHECK (made_by IN ('model', 'rules')),
    document TEXT NOT NULL,                -- its name then
    page_number INTEGER NOT NULL,
    page_label TEXT NOT NULL,
    quote TEXT NOT NULL,
    boxes TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(boxes)),
    PRIMARY KEY (turn_id, position)
) STRICT;
CREATE INDEX citations_by_pointer ON citations (pointer_id);

-- Where some text of a page is erased or changed by `forget`, the file that still has it is not kept either.
CREATE TRIGGER pages_without_their_text AFTER UPDATE OF text ON pages WHEN new.text <> old.text
BEGIN
    UPDATE documents SET original = '' WHERE id = old.document_id;
END;

CREATE TABLE drafts (                -- texts that the model worded when asked; never progress
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    wish TEXT NOT NULL,                    -- what was asked for, in the owner's words
    content TEXT NOT NULL,
    doubts TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(doubts)),       -- days and numbers in it that no source has
    rests_on TEXT NOT NULL CHECK (json_valid(rests_on)),                -- ids of the chunks that it was made from
    flagged_because TEXT NOT NULL DEFAULT '',                           -- one of them changed since
    made_by TEXT NOT NULL DEFAULT 'rules' CHECK (made_by IN ('rules', 'model')),
    created_at REAL NOT NULL,
    foreign_sources TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(foreign_sources)),
    tainted INTEGER NOT NULL GENERATED ALWAYS AS (foreign_sources <> '[]') STORED,
    checksum BLOB NOT NULL
) STRICT;
CREATE INDEX drafts_by_project ON drafts (project_id, created_at);

CREATE TABLE chunk_vectors (
    chunk_id TEXT NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
    model_id TEXT NOT NULL,
    vector BLOB NOT NULL,          -- float32, little-endian, unit length
    PRIMARY KEY (chunk_id, model_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX chunks_by_superseding ON chunks (superseded_by);

-- A number for each chunk, because FTS5 needs row numbers that never change.
CREATE TABLE chunk_numbers (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    chunk_id TEXT NOT NULL UNIQUE REFERENCES chunks (id) ON DELETE CASCADE
) STRICT;
CREATE VIEW chunk_texts AS
SELECT number, project_id, title, content FROM chunk_numbers JOIN chunks ON chunks.id = chunk_id;
CREATE VIRTUAL TABLE chunk_words USING fts5 (
    project_id, title, content, content = 'chunk_texts', content_rowid = 'number',
    tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER chunks_insert_words AFTER INSERT ON chunks
BEGIN
    INSERT INTO chunk_numbers (chunk_id) VALUES (new.id);
    INSERT INTO chunk_words (rowid, project_id, title, content)
        SELECT number, new.project_id, new.title, new.content FROM chunk_numbers WHERE chunk_id = new.id;
END;
CREATE TRIGGER chunks_update_words_out BEFORE UPDATE OF title, content ON chunks
BEGIN
    INSERT INTO chunk_words (chunk_words, rowid, project_id, title, content)
        SELECT 'delete', number, old.project_id, old.title, old.content FROM chunk_numbers WHERE chunk_id = old.id;
END;
CREATE TRIGGER chunks_update_words_in AFTER UPDATE OF title, content ON chunks
BEGIN
    INSERT INTO chunk_words (rowid, project_id, title, content)
        SELECT number, new.project_id, new.title, new.content FROM chunk_numbers WHERE chunk_id = new.id;
END;
CREATE TRIGGER documents_without_their_text AFTER DELETE ON chunks WHEN old.document_id IS NOT NULL
BEGIN
    UPDATE documents SET sha256 = '', original = '' WHERE id = old.document_id;
END;
CREATE TRIGGER chunks_delete_words BEFORE DELETE ON chunks
BEGIN
    INSERT INTO chunk_words (chunk_words, rowid, project_id, title, content)
        SELECT 'delete', number, old.project_id, old.title, old.content FROM chunk_numbers WHERE chunk_id = old.id;
    DELETE FROM chunk_numbers WHERE chunk_id = old.id;
END;

-- Relations between two chunks of one project. A relation weakened below the limit is archived and can be restored.
CREATE TABLE relations (
    id TEXT PRIMARY KEY,
    from_id TEXT NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
    to_id TEXT NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
    type TEXT NOT NULL CHECK (type IN (
        'supports', 'contradicts', 'builds_on', 'replaces', 'requires', 'related_to', 'qualifies', 'refines',
        'supersedes', 'superseded_by', 'caused_by', 'enables', 'prevents', 'is_a', 'part_of', 'instance_of',
        'preceded_by', 'followed_by', 'during', 'learned_from', 'applied_in', 'task_requires', 'goal_supports'
    )),
    weight REAL NOT NULL DEFAULT 0.5 CHECK (weight BETWEEN 0 AND 1),
    origin TEXT NOT NULL DEFAULT 'explicit' CHECK (origin IN ('explicit', 'implicit')),
    context_tags TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(context_tags)),
    confidence REAL NOT NULL DEFAULT 0.7 CHECK (confidence BETWEEN 0 AND 1),
    confidence_source TEXT NOT NULL DEFAULT 'stated' CHECK (confidence_source IN ('stated', 'likeness', 'model', 'rule')),
    activation_count INTEGER NOT NULL DEFAULT 0 CHECK (activation_count >= 0),
    last_activated_at REAL NOT NULL,
    created_at REAL NOT NULL,
    valid_from REAL,
    valid_until REAL,
    derived_from TEXT,             -- the relation that this one is a copy of
    resolved_at REAL,              -- of a contradiction: when it was settled
    resolution TEXT NOT NULL DEFAULT '' CHECK (resolution IN ('', 'recency', 'authority', 'conditional', 'owner', 'none')),
    archived_at REAL,
    archive_reason TEXT NOT NULL DEFAULT '' CHECK (archive_reason IN ('', 'contradicted', 'replaced', 'manual')),
    final_weight REAL CHECK (final_weight BETWEEN 0 AND 0.05),   -- what was left of it; `weight` is what restoring brings back
    UNIQUE (from_id, to_id, type),
    CHECK (from_id <> to_id),
    CHECK ((archived_at IS NULL) = (archive_reason = '')),
    CHECK ((archived_at IS NULL) = (final_weight IS NULL)),
    CHECK (weight >= 0.05)
) STRICT;
CREATE INDEX relations_by_end ON relations (to_id);
CREATE INDEX relations_by_weight ON relations (weight DESC);
CREATE TRIGGER relations_within_a_project BEFORE INSERT ON relations
WHEN (SELECT project_id FROM chunks WHERE id = new.from_id) <> (SELECT project_id FROM chunks WHERE id = new.to_id)
BEGIN SELECT raise(ABORT, 'a relation stays within its project'); END;

-- Chunks that a search returned together, once per wake (V-57). Rows older than thirty days are deleted.
CREATE TABLE coretrievals (
    a_id TEXT NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
    b_id TEXT NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
    session_id TEXT NOT NULL,
    query TEXT NOT NULL,
    happened_at REAL NOT NULL,
    counted_at REAL,               -- when it was looked at, and made or strengthened a relation
    PRIMARY KEY (a_id, b_id, session_id),
    CHECK (a_id < b_id)
) STRICT;
CREATE INDEX coretrievals_by_other ON coretrievals (b_id);

-- What the owner allowed in a project: a tool that reaches out, an untrusted source that may be in the prompt of such a
-- tool, or a single call, by its digest. `task_id`: within this task only.
CREATE TABLE grants (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    task_id TEXT REFERENCES tasks (id),
    kind TEXT NOT NULL CHECK (kind IN ('tool', 'source', 'call', 'denial')),
    name TEXT NOT NULL,
    given_at REAL NOT NULL,
    used_at REAL,                  -- of one call: when it was made
    revoked_at REAL
) STRICT;
CREATE INDEX grants_by_project ON grants (project_id);
CREATE INDEX grants_by_task ON grants (task_id);

CREATE INDEX task_needs_by_need ON task_needs (needs_id);
CREATE INDEX tasks_by_goal ON tasks (goal_id);
CREATE INDEX activities_by_task ON activities (task_id);
CREATE INDEX question_blocks_by_task ON question_blocks (task_id);
CREATE INDEX chunks_by_task ON chunks (task_id);
CREATE INDEX questions_by_task ON questions (task_id);

-- Named taint: a source is never removed from a row, and a derived row has all sources of its parents.
CREATE TRIGGER orientation_taint_stays BEFORE UPDATE OF foreign_sources ON orientation
WHEN EXISTS (SELECT value FROM json_each(old.foreign_sources) EXCEPT SELECT value FROM json_each(new.foreign_sources))
BEGIN SELECT raise(ABORT, 'a taint never goes'); END;
CREATE TRIGGER orientation_guarded BEFORE INSERT ON orientation
WHEN EXISTS (
    SELECT source.value FROM orientation AS earlier, json_each(earlier.foreign_sources) AS source
    WHERE earlier.project_id = new.project_id AND earlier.version = new.version - 1
    EXCEPT SELECT value FROM json_each(new.foreign_sources)
)
BEGIN SELECT raise(ABORT, 'what is made of tainted text is tainted'); END;
CREATE TRIGGER tasks_taint_stays BEFORE UPDATE OF foreign_sources ON tasks
WHEN EXISTS (SELECT value FROM json_each(old.foreign_sources) EXCEPT SELECT value FROM json_each(new.foreign_sources))
BEGIN SELECT raise(ABORT, 'a taint never goes'); END;
CREATE TRIGGER tasks_guarded BEFORE INSERT ON tasks
WHEN EXISTS (
    SELECT source.value FROM json_each(new.rests_on) AS base JOIN chunks AS made_of ON made_of.id = base.value,
        json_each(made_of.foreign_sources) AS source
    EXCEPT SELECT value FROM json_each(new.foreign_sources)
)
BEGIN SELECT raise(ABORT, 'what is made of tainted text is tainted'); END;
CREATE TRIGGER questions_taint_stays BEFORE UPDATE OF foreign_sources ON questions
WHEN EXISTS (SELECT value FROM json_each(old.foreign_sources) EXCEPT SELECT value FROM json_each(new.foreign_sources))
BEGIN SELECT raise(ABORT, 'a taint never goes'); END;
CREATE TRIGGER questions_guarded BEFORE INSERT ON questions
WHEN EXISTS (
    SELECT source.value FROM tasks AS asking, json_each(asking.foreign_sources) AS source WHERE asking.id = new.task_id
    EXCEPT SELECT value FROM json_each(new.foreign_sources)
)
BEGIN SELECT raise(ABORT, 'what is made of tainted text is tainted'); END;
CREATE TRIGGER steps_taint_stays BEFORE UPDATE OF foreign_sources ON steps
WHEN EXISTS (SELECT value FROM json_each(old.foreign_sources) EXCEPT SELECT value FROM json_each(new.foreign_sources))
BEGIN SELECT raise(ABORT, 'a taint never goes'); END;
CREATE TRIGGER steps_guarded BEFORE INSERT ON steps
WHEN EXISTS (
    SELECT source.value FROM tasks AS asking, json_each(asking.foreign_sources) AS source WHERE asking.id = new.task_id
    EXCEPT SELECT value FROM json_each(new.foreign_sources)
)
BEGIN SELECT raise(ABORT, 'what is made of tainted text is tainted'); END;
CREATE TRIGGER chunks_taint_stays BEFORE UPDATE OF foreign_sources ON chunks
WHEN EXISTS (SELECT value FROM json_each(old.foreign_sources) EXCEPT SELECT value FROM json_each(new.foreign_sources))
BEGIN SELECT raise(ABORT, 'a taint never goes'); END;
CREATE TRIGGER chunks_guarded BEFORE INSERT ON chunks
WHEN EXISTS (
    SELECT source.value FROM json_each(new.rests_on) AS base JOIN chunks AS made_of ON made_of.id = base.value,
        json_each(made_of.foreign_sources) AS source
    EXCEPT SELECT value FROM json_each(new.foreign_sources)
)
BEGIN SELECT raise(ABORT, 'what is made of tainted text is tainted'); END;
CREATE TRIGGER proposals_taint_stays BEFORE UPDATE OF foreign_sources ON proposals
WHEN EXISTS (SELECT value FROM json_each(old.foreign_sources) EXCEPT SELECT value FROM json_each(new.foreign_sources))
BEGIN SELECT raise(ABORT, 'a taint never goes'); END;
CREATE TRIGGER proposals_guarded BEFORE INSERT ON proposals
WHEN EXISTS (
    SELECT source.value FROM tasks AS became, json_each(became.foreign_sources) AS source WHERE became.id = new.task_id
    EXCEPT SELECT value FROM json_each(new.foreign_sources)
)
BEGIN SELECT raise(ABORT, 'what is made of tainted text is tainted'); END;
CREATE TRIGGER decided_conflicts_taint_stays BEFORE UPDATE OF foreign_sources ON decided_conflicts
WHEN EXISTS (SELECT value FROM json_each(old.foreign_sources) EXCEPT SELECT value FROM json_each(new.foreign_sources))
BEGIN SELECT raise(ABORT, 'a taint never goes'); END;
CREATE TRIGGER decided_conflicts_guarded BEFORE INSERT ON decided_conflicts
WHEN EXISTS (
    SELECT source.value FROM json_each(new.rests_on) AS base JOIN chunks AS made_of ON made_of.id = base.value,
        json_each(made_of.foreign_sources) AS source
    EXCEPT SELECT value FROM json_each(new.foreign_sources)
)
BEGIN SELECT raise(ABORT, 'what is made of tainted text is tainted'); END;
CREATE TRIGGER drafts_taint_stays BEFORE UPDATE OF foreign_sources ON drafts
WHEN EXISTS (SELECT value FROM json_each(old.foreign_sources) EXCEPT SELECT value FROM json_each(new.foreign_sources))
BEGIN SELECT raise(ABORT, 'a taint never goes'); END;
CREATE TRIGGER drafts_guarded BEFORE INSERT ON drafts
WHEN EXISTS (
    SELECT source.value FROM json_each(new.rests_on) AS base JOIN chunks AS made_of ON made_of.id = base.value,
        json_each(made_of.foreign_sources) AS source
    EXCEPT SELECT value FROM json_each(new.foreign_sources)
)
BEGIN SELECT raise(ABORT, 'what is made of tainted text is tainted'); END;
