-- From schema 5 to 6.

-- forgetting:
-- What the owner had erased: when, how much of what, and keyed hashes of it; nothing of its content.
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
-- Where a text came from never changes, and what is tainted stays so: an episode for as long as something that it was
-- made of is. Whatever writes a row that is made of tainted ones has to write it tainted.
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
