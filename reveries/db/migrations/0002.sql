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
