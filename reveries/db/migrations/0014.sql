-- From schema 13 to 14: tasks that notes propose, drafts, a day on which a task is due, and where a chunk stands.

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

CREATE TABLE drafts (                -- texts that the model worded when asked; never progress
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    wish TEXT NOT NULL,                    -- what was asked for, in the owner's words
    content TEXT NOT NULL,
    doubts TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(doubts)),       -- days and numbers in it that no source has
    rests_on TEXT NOT NULL CHECK (json_valid(rests_on)),                -- ids of the chunks that it was made from
    flagged_because TEXT NOT NULL DEFAULT '',                           -- one of them changed since
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
