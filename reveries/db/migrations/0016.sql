-- From schema 15 to 16: the owner steers tasks: who made one, when it comes back, its place; reminders; changes to confirm.

ALTER TABLE tasks ADD COLUMN made_by TEXT NOT NULL DEFAULT 'mind' CHECK (made_by IN ('mind', 'owner', 'program'));
ALTER TABLE tasks ADD COLUMN is_mine INTEGER NOT NULL DEFAULT 0 CHECK (is_mine IN (0, 1));
ALTER TABLE tasks ADD COLUMN repeats TEXT NOT NULL DEFAULT '';
ALTER TABLE tasks ADD COLUMN position REAL;

-- What the owner was reminded of, once for each day that a task is due on.
CREATE TABLE reminders (
    task_id TEXT NOT NULL REFERENCES tasks (id),
    due TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('day_before', 'on_day')),
    made_at REAL NOT NULL,
    shown_at REAL,                 -- null: nobody was there yet
    PRIMARY KEY (task_id, due, kind)
) STRICT;

-- Changes that the owner's words in a conversation ask for; nothing changes before a yes.
CREATE TABLE wishes (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    task_id TEXT REFERENCES tasks (id),    -- null: a task to be added
    action TEXT NOT NULL CHECK (action IN ('move', 'drop', 'start', 'done', 'add')),
    title TEXT NOT NULL DEFAULT '',        -- of a task to be added
    due TEXT NOT NULL DEFAULT '',          -- the new day
    state TEXT NOT NULL CHECK (state IN ('proposed', 'applied', 'declined')),
    created_at REAL NOT NULL,
    decided_at REAL,
    checksum BLOB NOT NULL
) STRICT;
CREATE INDEX wishes_by_state ON wishes (state);
CREATE INDEX wishes_by_project ON wishes (project_id);
CREATE INDEX wishes_by_task ON wishes (task_id);
