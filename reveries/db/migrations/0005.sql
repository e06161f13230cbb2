-- From schema 4 to 5.

-- thinking:
-- What the owner asked it to think about and it has not thought yet.
CREATE TABLE asked_thoughts (
    id INTEGER PRIMARY KEY,
    reason TEXT NOT NULL CHECK (reason IN ('nudge', 'step')),
    about TEXT NOT NULL,
    asked_at REAL NOT NULL
) STRICT;
