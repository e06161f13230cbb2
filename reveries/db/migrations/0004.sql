-- From schema 3 to 4.

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
