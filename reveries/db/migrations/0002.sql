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
