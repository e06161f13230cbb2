-- From schema 1 (part one) to 2.

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

CREATE INDEX usage_ledger_open ON usage_ledger (reserved_at) WHERE outcome = 'reserved';

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

CREATE INDEX vectors_by_model ON vectors (model_id, owner_kind);
