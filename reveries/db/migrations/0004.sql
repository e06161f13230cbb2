-- From schema 3 to 4.

-- waking: in the place of one stamp for all a note of each row that changed. The snapshot of an older Reveries is stale
-- by that, once.
DROP TRIGGER episodes_insert_stamps;
DROP TRIGGER episodes_update_stamps;
DROP TRIGGER episodes_delete_stamps;
DROP TRIGGER episode_sources_insert_stamps;
DROP TRIGGER episode_sources_update_stamps;
DROP TRIGGER episode_sources_delete_stamps;
DROP TRIGGER episode_links_insert_stamps;
DROP TRIGGER episode_links_update_stamps;
DROP TRIGGER episode_links_delete_stamps;
DROP TRIGGER vectors_insert_stamps;
DROP TRIGGER vectors_update_stamps;
DROP TRIGGER vectors_delete_stamps;
DROP TRIGGER turns_update_stamps;
DROP TRIGGER turns_delete_stamps;
DROP TRIGGER raw_experiences_update_stamps;
DROP TRIGGER raw_experiences_delete_stamps;
DROP TRIGGER deep_texts_insert_stamps;
DROP TRIGGER deep_texts_delete_stamps;
DROP TABLE graph_stamp;

-- What changed since a snapshot of the live memory was taken, whoever changed it: a wake reads those rows alone anew
-- (memory/snapshots.py). `mark` is random, and stands in the snapshot too: no counter, for an old backup could count up
-- to the same. An epoch begins with the mark of a snapshot; what changed in it, or later, is not in that snapshot. While
-- there is no mark nothing is noted. Of vectors those in use count; when others come into use, every mark ends.
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

-- monologue: why a thought ended in words, what it began with, what it cost; the owner's word on thoughts; notes.
ALTER TABLE monologue_log ADD COLUMN explanation TEXT NOT NULL DEFAULT '';
ALTER TABLE monologue_log ADD COLUMN occasion TEXT NOT NULL DEFAULT '';
ALTER TABLE monologue_log ADD COLUMN calls INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monologue_log ADD COLUMN prompt_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monologue_log ADD COLUMN completion_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monologue_log ADD COLUMN microdollars INTEGER NOT NULL DEFAULT 0;
ALTER TABLE monologue_log ADD COLUMN tainted INTEGER NOT NULL DEFAULT 0 CHECK (tainted IN (0, 1));
CREATE TABLE thought_marks (
    thought_id TEXT PRIMARY KEY REFERENCES monologue_log (id),
    pinned_at REAL,
    dropped_at REAL
) STRICT;
CREATE TABLE withdrawn_experiences (
    experience_id TEXT PRIMARY KEY REFERENCES raw_experiences (id),
    withdrawn_at REAL NOT NULL
) STRICT;
CREATE TABLE monologue_control (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    paused_at REAL
) STRICT;
CREATE TABLE surfaced_memories (
    episode_id TEXT PRIMARY KEY,
    surfaced_at REAL NOT NULL
) STRICT;
CREATE TABLE calendar_told (
    event_key TEXT PRIMARY KEY,
    told_at REAL NOT NULL
) STRICT;
CREATE TABLE owner_notes (
    id TEXT PRIMARY KEY,
    thought_id TEXT NOT NULL REFERENCES monologue_log (id),
    written_at REAL NOT NULL,
    text TEXT NOT NULL,
    reason TEXT NOT NULL,
    shown_at REAL,
    dismissed_at REAL,
    checksum BLOB NOT NULL
) STRICT;
CREATE INDEX owner_notes_by_time ON owner_notes (written_at);
CREATE INDEX owner_notes_by_thought ON owner_notes (thought_id);
