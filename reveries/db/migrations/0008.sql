-- From schema 7 to 8.

-- tiers:
-- What a test found each model able to do (llm/tier.py). A model that is not here was never tested.
CREATE TABLE model_tiers (
    model TEXT PRIMARY KEY,
    tier INTEGER NOT NULL CHECK (tier IN (0, 1, 2)),
    tested_at REAL NOT NULL,
    scores TEXT NOT NULL CHECK (json_valid(scores))   -- by group of tasks: how many were right, of how many
) STRICT;
