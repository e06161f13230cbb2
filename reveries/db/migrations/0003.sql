-- From schema 2 (part two) to 3.

-- graph: a random value, another one after every change to what the live memory is made of, whoever makes it: a snapshot
-- that holds another value is stale (memory/snapshot_file.py).
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

-- Sleep that can be looked at, asked about and taken back; what is claimed; what a reply only repeats.
ALTER TABLE turns ADD COLUMN echoes TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(echoes));

-- Undoing light sleep erases episodes: each would read all links and all episodes without these.
CREATE INDEX episodes_by_merger ON episodes (merged_into) WHERE merged_into IS NOT NULL;
CREATE INDEX episode_links_by_target ON episode_links (to_id);

CREATE TABLE consolidation_undone (
    run_id TEXT PRIMARY KEY REFERENCES consolidation_runs (id),
    undo_id TEXT NOT NULL UNIQUE REFERENCES consolidation_runs (id),
    undone_at REAL NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE consolidation_vectors (
    change_id INTEGER NOT NULL REFERENCES consolidation_changes (id),
    episode_id TEXT NOT NULL,
    model_id TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (change_id, episode_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX consolidation_vectors_by_episode ON consolidation_vectors (episode_id);

CREATE TABLE consolidation_pending (
    run_id TEXT PRIMARY KEY REFERENCES consolidation_runs (id),
    experience_id TEXT NOT NULL REFERENCES raw_experiences (id),
    asked_at REAL NOT NULL,
    question TEXT NOT NULL,
    answer TEXT NOT NULL CHECK (json_valid(answer))
) STRICT, WITHOUT ROWID;
CREATE INDEX consolidation_pending_by_experience ON consolidation_pending (experience_id);

CREATE TABLE held_experiences (
    experience_id TEXT PRIMARY KEY REFERENCES raw_experiences (id),
    held_at REAL NOT NULL,
    why TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE claims (
    id TEXT PRIMARY KEY,
    subject TEXT NOT NULL,
    relation TEXT NOT NULL,
    value TEXT NOT NULL,
    quote TEXT NOT NULL,
    is_change INTEGER NOT NULL CHECK (is_change IN (0, 1)),
    turn_id TEXT NOT NULL,
    experience_id TEXT NOT NULL REFERENCES raw_experiences (id),
    speaker TEXT NOT NULL,
    said_at REAL NOT NULL,
    found_by TEXT NOT NULL CHECK (found_by IN ('pattern', 'model')),
    origin TEXT NOT NULL CHECK (origin IN ('owner', 'self', 'tool', 'document', 'channel', 'system')),
    tainted INTEGER NOT NULL CHECK (tainted IN (0, 1)),
    checksum BLOB NOT NULL
) STRICT;
CREATE INDEX claims_by_experience ON claims (experience_id);

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


-- dormant: episodes and words that are only on disk, and what a silence means.
ALTER TABLE episodes ADD COLUMN dormant INTEGER NOT NULL DEFAULT 0 CHECK (dormant IN (0, 1));
ALTER TABLE gaps ADD COLUMN felt REAL NOT NULL DEFAULT 0;
ALTER TABLE gaps ADD COLUMN left_open INTEGER NOT NULL DEFAULT 0 CHECK (left_open IN (0, 1));
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
