-- From schema 10 to 11: what a project knows evolves.

-- chunks:
ALTER TABLE chunks ADD COLUMN memory_type TEXT NOT NULL DEFAULT 'semantic'
        CHECK (memory_type IN ('episodic', 'semantic', 'procedural', 'preference'));
ALTER TABLE chunks ADD COLUMN tier TEXT NOT NULL DEFAULT 'semantic' CHECK (tier IN ('working', 'episodic', 'semantic'));
ALTER TABLE chunks ADD COLUMN status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'archived', 'summarized', 'tombstone'));
ALTER TABLE chunks ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1));
ALTER TABLE chunks ADD COLUMN valid_from REAL;
ALTER TABLE chunks ADD COLUMN valid_until REAL;
ALTER TABLE chunks ADD COLUMN source_confidence REAL NOT NULL DEFAULT 0.7 CHECK (source_confidence BETWEEN 0 AND 1);
ALTER TABLE chunks ADD COLUMN extraction_confidence REAL NOT NULL DEFAULT 0.7 CHECK (extraction_confidence BETWEEN 0 AND 1);
ALTER TABLE chunks ADD COLUMN initial_strength REAL NOT NULL DEFAULT 1.0 CHECK (initial_strength BETWEEN 0 AND 1);
ALTER TABLE chunks ADD COLUMN decay_function TEXT NOT NULL DEFAULT 'exponential' CHECK (decay_function IN ('exponential', 'linear'));
ALTER TABLE chunks ADD COLUMN decay_rate REAL NOT NULL DEFAULT 0.05 CHECK (decay_rate >= 0);
ALTER TABLE chunks ADD COLUMN superseded_by TEXT REFERENCES chunks (id) ON DELETE SET NULL;
ALTER TABLE chunks ADD COLUMN names TEXT CHECK (json_valid(names));
UPDATE chunks SET memory_type = CASE
    WHEN type IN ('decision', 'attempt') THEN 'episodic' WHEN type = 'user_input' THEN 'preference' ELSE 'semantic' END;
CREATE INDEX chunks_by_superseding ON chunks (superseded_by);

-- A number for each chunk: FTS5 names its rows by numbers that never change.
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
CREATE TRIGGER chunks_delete_words BEFORE DELETE ON chunks
BEGIN
    INSERT INTO chunk_words (chunk_words, rowid, project_id, title, content)
        SELECT 'delete', number, old.project_id, old.title, old.content FROM chunk_numbers WHERE chunk_id = old.id;
    DELETE FROM chunk_numbers WHERE chunk_id = old.id;
END;

-- How two chunks of one project hang together. A relation that was weakened away stays, archived, and can be restored.
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

-- Which chunks a search found together, once a wake (V-57). Rows of more than thirty days are deleted.
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

INSERT INTO chunk_numbers (chunk_id) SELECT id FROM chunks ORDER BY created_at, id;
INSERT INTO chunk_words (rowid, project_id, title, content) SELECT number, project_id, title, content FROM chunk_texts;
