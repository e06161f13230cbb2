-- From schema 5 to 6.

-- the owner's hand on episodes:
-- Episodes that the owner pinned: time leaves them alone. A pin on one that was merged is its home's (pins.homes).
CREATE TABLE pinned_episodes (
    episode_id TEXT PRIMARY KEY REFERENCES episodes (id) ON DELETE CASCADE,
    pinned_at REAL NOT NULL
) STRICT;

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
