-- From schema 2 (part two) to 3.

-- graph: a random value, another one after every change to what the live graph is made of, whoever makes it: a snapshot
-- of the graph that holds another value is stale (memory/snapshot.py).
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
CREATE TRIGGER vectors_insert_stamps AFTER INSERT ON vectors WHEN new.owner_kind = 'episode'
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER vectors_update_stamps AFTER UPDATE ON vectors WHEN new.owner_kind = 'episode'
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER vectors_delete_stamps AFTER DELETE ON vectors WHEN old.owner_kind = 'episode'
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;

-- dormant: episodes and words that are only on disk, and what a silence means.
ALTER TABLE episodes ADD COLUMN dormant INTEGER NOT NULL DEFAULT 0 CHECK (dormant IN (0, 1));
CREATE INDEX episode_links_by_target ON episode_links (to_id);
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
