-- From schema 12 to 13: statements of the self-model have a day; notes propose tasks, drafts rest on what they were made
-- of; hidden reasoning is counted, refused schemas are remembered; the owner steers tasks.

ALTER TABLE self_model ADD COLUMN closed_threads TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(closed_threads));
ALTER TABLE self_model ADD COLUMN past_facts TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(past_facts));
ALTER TABLE self_model ADD COLUMN days TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(days));
ALTER TABLE owner_notes ADD COLUMN answered_in TEXT;


ALTER TABLE tasks ADD COLUMN due TEXT NOT NULL DEFAULT '';
ALTER TABLE chunks ADD COLUMN first_line INTEGER NOT NULL DEFAULT 0;
ALTER TABLE chunks ADD COLUMN lead TEXT NOT NULL DEFAULT '';
ALTER TABLE chunks ADD COLUMN written_on TEXT NOT NULL DEFAULT '';

CREATE TABLE proposals (             -- tasks that notes suggest; nothing begins before the owner accepts one
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    title TEXT NOT NULL,
    due TEXT NOT NULL DEFAULT '',          -- a day, or a day with a time, where the owner is: 2026-12-08T14:00
    state TEXT NOT NULL CHECK (state IN ('proposed', 'accepted', 'dismissed', 'gone')),
    document TEXT NOT NULL,
    line INTEGER NOT NULL,                 -- from 1
    source_line TEXT NOT NULL,             -- the line that it was read from: while it is unchanged, it comes once
    task_id TEXT REFERENCES tasks (id),    -- what it became when it was accepted
    created_at REAL NOT NULL,
    decided_at REAL,
    foreign_sources TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(foreign_sources)),
    tainted INTEGER NOT NULL GENERATED ALWAYS AS (foreign_sources <> '[]') STORED,
    checksum BLOB NOT NULL,
    UNIQUE (project_id, document, source_line)
) STRICT;
CREATE INDEX proposals_by_task ON proposals (task_id);

CREATE TABLE decided_conflicts (     -- what was decided of two lines of notes that do not, or may not, go together
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    a_document TEXT NOT NULL,
    a_text TEXT NOT NULL,                  -- while both lines are unchanged, the decision stands
    b_document TEXT NOT NULL,
    b_text TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('dismissed', 'kept_a', 'kept_b', 'confirmed', 'denied')),
    decided_by TEXT NOT NULL CHECK (decided_by IN ('owner', 'model')),
    reason TEXT NOT NULL DEFAULT '',
    model TEXT NOT NULL DEFAULT '',        -- the name of the model that judged
    rests_on TEXT NOT NULL CHECK (json_valid(rests_on)),       -- ids of the chunks that the lines stand in
    decided_at REAL NOT NULL,
    foreign_sources TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(foreign_sources)),
    tainted INTEGER NOT NULL GENERATED ALWAYS AS (foreign_sources <> '[]') STORED,
    checksum BLOB NOT NULL,
    UNIQUE (project_id, a_document, a_text, b_document, b_text)
) STRICT;

CREATE TABLE drafts (                -- texts that the model worded when asked; never progress
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    wish TEXT NOT NULL,                    -- what was asked for, in the owner's words
    content TEXT NOT NULL,
    doubts TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(doubts)),       -- days and numbers in it that no source has
    rests_on TEXT NOT NULL CHECK (json_valid(rests_on)),                -- ids of the chunks that it was made from
    flagged_because TEXT NOT NULL DEFAULT '',                           -- one of them changed since
    made_by TEXT NOT NULL DEFAULT 'rules' CHECK (made_by IN ('rules', 'model')),
    created_at REAL NOT NULL,
    foreign_sources TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(foreign_sources)),
    tainted INTEGER NOT NULL GENERATED ALWAYS AS (foreign_sources <> '[]') STORED,
    checksum BLOB NOT NULL
) STRICT;
CREATE INDEX drafts_by_project ON drafts (project_id, created_at);

CREATE TRIGGER proposals_taint_stays BEFORE UPDATE OF foreign_sources ON proposals
WHEN EXISTS (SELECT value FROM json_each(old.foreign_sources) EXCEPT SELECT value FROM json_each(new.foreign_sources))
BEGIN SELECT raise(ABORT, 'a taint never goes'); END;
CREATE TRIGGER proposals_guarded BEFORE INSERT ON proposals
WHEN EXISTS (
    SELECT source.value FROM tasks AS became, json_each(became.foreign_sources) AS source WHERE became.id = new.task_id
    EXCEPT SELECT value FROM json_each(new.foreign_sources)
)
BEGIN SELECT raise(ABORT, 'what is made of tainted text is tainted'); END;
CREATE TRIGGER decided_conflicts_taint_stays BEFORE UPDATE OF foreign_sources ON decided_conflicts
WHEN EXISTS (SELECT value FROM json_each(old.foreign_sources) EXCEPT SELECT value FROM json_each(new.foreign_sources))
BEGIN SELECT raise(ABORT, 'a taint never goes'); END;
CREATE TRIGGER decided_conflicts_guarded BEFORE INSERT ON decided_conflicts
WHEN EXISTS (
    SELECT source.value FROM json_each(new.rests_on) AS base JOIN chunks AS made_of ON made_of.id = base.value,
        json_each(made_of.foreign_sources) AS source
    EXCEPT SELECT value FROM json_each(new.foreign_sources)
)
BEGIN SELECT raise(ABORT, 'what is made of tainted text is tainted'); END;
CREATE TRIGGER drafts_taint_stays BEFORE UPDATE OF foreign_sources ON drafts
WHEN EXISTS (SELECT value FROM json_each(old.foreign_sources) EXCEPT SELECT value FROM json_each(new.foreign_sources))
BEGIN SELECT raise(ABORT, 'a taint never goes'); END;
CREATE TRIGGER drafts_guarded BEFORE INSERT ON drafts
WHEN EXISTS (
    SELECT source.value FROM json_each(new.rests_on) AS base JOIN chunks AS made_of ON made_of.id = base.value,
        json_each(made_of.foreign_sources) AS source
    EXCEPT SELECT value FROM json_each(new.foreign_sources)
)
BEGIN SELECT raise(ABORT, 'what is made of tainted text is tainted'); END;


ALTER TABLE usage_ledger ADD COLUMN reasoning_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE structured_answers ADD COLUMN schema_refused_at REAL;


ALTER TABLE tasks ADD COLUMN made_by TEXT NOT NULL DEFAULT 'mind' CHECK (made_by IN ('mind', 'owner', 'program'));
ALTER TABLE tasks ADD COLUMN is_mine INTEGER NOT NULL DEFAULT 0 CHECK (is_mine IN (0, 1));
ALTER TABLE tasks ADD COLUMN repeats TEXT NOT NULL DEFAULT '';
ALTER TABLE tasks ADD COLUMN position REAL;
ALTER TABLE tasks ADD COLUMN files TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(files));

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
