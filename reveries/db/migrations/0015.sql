-- From schema 14 to 15: hidden reasoning is counted, and a model that refuses JSON schemas is remembered.

ALTER TABLE usage_ledger ADD COLUMN reasoning_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE structured_answers ADD COLUMN schema_refused_at REAL;
