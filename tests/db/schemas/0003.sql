-- The whole schema. Times are unix seconds (UTC, REAL). A change is a new file in db/migrations and the same change here.
-- `origin` never changes; `tainted` is inherited by every row that is derived from a tainted one; `checksum` is the
-- BLAKE2b-128 of a row's text (db/checksums.py), for SQLite's own check does not notice most flipped bits.

CREATE TABLE conversations (
    id TEXT PRIMARY KEY,
    began_at REAL NOT NULL,
    last_said_at REAL NOT NULL,
    rested_at REAL,
    source TEXT NOT NULL,          -- "chat", or the name of an import
    title TEXT NOT NULL DEFAULT '',
    folded_summary TEXT NOT NULL DEFAULT '',
    folded_until INTEGER NOT NULL DEFAULT 0   -- turns before this position are told as the summary
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

-- Vectors by what they belong to and which model made them. float32, little-endian, unit length.
CREATE TABLE vectors (
    owner_kind TEXT NOT NULL CHECK (owner_kind IN ('episode', 'turn')),
    owner_id TEXT NOT NULL,
    model_id TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (owner_kind, owner_id, model_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX vectors_by_model ON vectors (model_id, owner_kind);

-- Vectors that were paid for, by the SHA-256 of the exact text. Bounded; emptied by `forget`, for a vector tells its text.
CREATE TABLE embedding_cache (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    content_hash TEXT NOT NULL,
    model_id TEXT NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (content_hash, model_id)
) STRICT;

-- Whose vectors recall compares: changed in one transaction, when those of another model are all there.
CREATE TABLE embedding_space (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    model_id TEXT NOT NULL,
    since REAL NOT NULL
) STRICT;

-- A random value, another one after every change to what the live memory is made of, whoever makes it: a snapshot
-- that holds another value is stale (memory/snapshot_file.py). No counter: an old backup could count up to the same.
CREATE TABLE graph_stamp (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    value BLOB NOT NULL
) STRICT;
INSERT INTO graph_stamp (id, value) VALUES (1, randomblob(16));
CREATE TRIGGER episodes_insert_stamps AFTER INSERT ON episodes
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER episodes_update_stamps AFTER UPDATE ON episodes
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER episodes_delete_stamps AFTER DELETE ON episodes
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER episode_sources_insert_stamps AFTER INSERT ON episode_sources
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER episode_sources_update_stamps AFTER UPDATE ON episode_sources
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER episode_sources_delete_stamps AFTER DELETE ON episode_sources
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER episode_links_insert_stamps AFTER INSERT ON episode_links
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER episode_links_update_stamps AFTER UPDATE ON episode_links
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER episode_links_delete_stamps AFTER DELETE ON episode_links
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER vectors_insert_stamps AFTER INSERT ON vectors
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER vectors_update_stamps AFTER UPDATE ON vectors
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER vectors_delete_stamps AFTER DELETE ON vectors
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER turns_update_stamps
AFTER UPDATE OF conversation_id, position, origin, speaker, text, said_at ON turns
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER turns_delete_stamps AFTER DELETE ON turns
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER raw_experiences_update_stamps AFTER UPDATE OF happened_at, content, origin ON raw_experiences
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER raw_experiences_delete_stamps AFTER DELETE ON raw_experiences
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;

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
    updated_at REAL NOT NULL
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
    checksum BLOB NOT NULL
) STRICT;
CREATE INDEX monologue_log_by_time ON monologue_log (began_at);

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

-- What a run did, in order, with what was there before: the diff, and how to undo it.
CREATE TABLE consolidation_changes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL REFERENCES consolidation_runs (id),
    experience_id TEXT REFERENCES raw_experiences (id),
    change_set TEXT NOT NULL CHECK (json_valid(change_set)),
    log TEXT NOT NULL
) STRICT;
CREATE INDEX consolidation_changes_by_run ON consolidation_changes (run_id, id);

-- Runs that were taken back, and the run that did it.
CREATE TABLE consolidation_undone (
    run_id TEXT PRIMARY KEY REFERENCES consolidation_runs (id),
    undo_id TEXT NOT NULL UNIQUE REFERENCES consolidation_runs (id),
    undone_at REAL NOT NULL
) STRICT, WITHOUT ROWID;

-- The vectors that a change put others in the place of. Of one model: after a change of the embedder they are made anew.
CREATE TABLE consolidation_vectors (
    change_id INTEGER NOT NULL REFERENCES consolidation_changes (id),
    episode_id TEXT NOT NULL,
    model_id TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (change_id, episode_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX consolidation_vectors_by_episode ON consolidation_vectors (episode_id);

-- What a run would do next and has not done: it waits for the owner's word. `answer` is the model's, checked.
CREATE TABLE consolidation_pending (
    run_id TEXT PRIMARY KEY REFERENCES consolidation_runs (id),
    experience_id TEXT NOT NULL REFERENCES raw_experiences (id),
    asked_at REAL NOT NULL,
    question TEXT NOT NULL,
    answer TEXT NOT NULL CHECK (json_valid(answer))
) STRICT, WITHOUT ROWID;
CREATE INDEX consolidation_pending_by_experience ON consolidation_pending (experience_id);

-- Experiences that sleep takes up again only when the owner asks for it: what it made of them was taken back or refused.
CREATE TABLE held_experiences (
    experience_id TEXT PRIMARY KEY REFERENCES raw_experiences (id),
    held_at REAL NOT NULL,
    why TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What somebody said of something, one value for each subject and relation: two of them cannot both hold now.
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

-- Two claims of which only one can hold. An update ranks the earlier under the later; a contradiction waits to be settled.
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

-- One row a call: reserved before it, settled after it. A row that was never settled keeps its worst case.
-- `outcome`: reserved (it runs), answered, broken off, released (never made), not believed (what the provider said was
-- used cannot be true, or is not trusted: the worst case is charged); and of those without `settled_at`: usage unknown
-- (nobody said), expired (it can no longer be running and was never settled).
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
    outcome TEXT NOT NULL DEFAULT 'reserved'
) STRICT;
CREATE INDEX usage_ledger_by_time ON usage_ledger (reserved_at, role);
CREATE INDEX usage_ledger_open ON usage_ledger (reserved_at) WHERE outcome = 'reserved';

-- What is known of a provider that fails, kept over restarts: a mind that is woken anew does not storm it.
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

-- How well each model keeps to the form it is asked for (R-113).
CREATE TABLE structured_answers (
    model TEXT PRIMARY KEY,
    valid INTEGER NOT NULL DEFAULT 0,
    repaired INTEGER NOT NULL DEFAULT 0,   -- valid after it was shown what was wrong
    failed INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE schedule (
    job TEXT PRIMARY KEY,
    next_run_at REAL NOT NULL,
    last_run_at REAL,
    last_outcome TEXT NOT NULL DEFAULT ''
) STRICT;

-- dormant: what is only on disk and found by a deep look: the summaries of dormant episodes, their turns, and turns whose
-- words were put away. A copy of the text, so that erasing a row here erases it from the word index too.
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
CREATE TRIGGER deep_texts_insert_stamps AFTER INSERT ON deep_texts
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER deep_texts_delete_stamps AFTER DELETE ON deep_texts
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE VIRTUAL TABLE deep_words USING fts5 (
    speaker, text, content = 'deep_texts', content_rowid = 'id', tokenize = 'porter unicode61'
);
CREATE TRIGGER deep_texts_insert_words AFTER INSERT ON deep_texts
BEGIN INSERT INTO deep_words (rowid, speaker, text) VALUES (new.id, new.speaker, new.text); END;
CREATE TRIGGER deep_texts_delete_words AFTER DELETE ON deep_texts
BEGIN INSERT INTO deep_words (deep_words, rowid, speaker, text) VALUES ('delete', old.id, old.speaker, old.text); END;

-- The vectors of deep_texts once more, where sqlite-vec can be loaded: deep_vectors_<number>, one table a model. They can
-- be made anew from `vectors` at any time.
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
