-- From schema 1 (part one) to 2.

CREATE TABLE provider_circuits (
    provider TEXT PRIMARY KEY,
    failures INTEGER NOT NULL,
    opened_at REAL,                 -- null: calls are let through
    next_try_at REAL NOT NULL,
    last_fault TEXT NOT NULL,
    last_error TEXT NOT NULL
) STRICT;

CREATE INDEX usage_ledger_open ON usage_ledger (reserved_at) WHERE outcome = 'reserved';
