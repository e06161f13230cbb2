-- From schema 9 to 10: what the owner gives the mind to work on.

-- whose work a call was:
ALTER TABLE usage_ledger ADD COLUMN project_id TEXT;

-- projects:
-- What the owner gave the mind to work on. Names of tables and columns: docs/explain/glossary.md. `foreign_sources` names
-- who else had a hand in a row: a list of documents, hosts and programs; `tainted` follows from it.
CREATE TABLE projects (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL COLLATE NOCASE,
    state TEXT NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'paused', 'archived')),
    created_at REAL NOT NULL,
    last_wake_at REAL,
    last_worked_at REAL,
    rested_because TEXT NOT NULL DEFAULT '',   -- why its last wake ended: 'done', 'waiting for you', 'budget' and so on
    rewrite_due TEXT NOT NULL DEFAULT ''       -- what made a new orientation due, and is not written yet
) STRICT;
CREATE UNIQUE INDEX projects_by_name ON projects (name) WHERE name <> '(erased)';

-- The owner's words on what a project is for. One is active, the next waits until the task in hand is done.
CREATE TABLE goals (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    text TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'active', 'past')),
    said_at REAL NOT NULL,
    applied_at REAL,
    dollars_limit REAL,            -- null: what the budget leaves
    checksum BLOB NOT NULL
) STRICT;
CREATE INDEX goals_by_project ON goals (project_id, said_at);
CREATE UNIQUE INDEX goals_active ON goals (project_id) WHERE state = 'active';

-- Where a project stands, one page; the newest version counts.
CREATE TABLE orientation (
    project_id TEXT NOT NULL REFERENCES projects (id),
    version INTEGER NOT NULL,
    content TEXT NOT NULL CHECK (json_valid(content)),
    trigger TEXT NOT NULL,
    written_at REAL NOT NULL,
    foreign_sources TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(foreign_sources)),
    tainted INTEGER NOT NULL GENERATED ALWAYS AS (foreign_sources <> '[]') STORED,
    checksum BLOB NOT NULL,
    PRIMARY KEY (project_id, version)
) STRICT;

CREATE TABLE tasks (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    goal_id TEXT REFERENCES goals (id),
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('find_out', 'read', 'compare', 'write', 'ask', 'other')),
    status TEXT NOT NULL CHECK (status IN ('ready', 'in_progress', 'blocked', 'done', 'dropped')),
    skill_area TEXT NOT NULL DEFAULT '',
    rests_on TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(rests_on)),     -- ids of chunks
    outcome TEXT NOT NULL DEFAULT '',
    audit TEXT NOT NULL DEFAULT '',            -- what the auditor said of the last outcome
    tries INTEGER NOT NULL DEFAULT 0,
    failure TEXT NOT NULL DEFAULT '',          -- why the last try failed: the next one is told
    held_because TEXT NOT NULL DEFAULT '',     -- what it rests on fell before it was begun
    flagged_because TEXT NOT NULL DEFAULT '',  -- the same, after it was done
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    started_at REAL,
    completed_at REAL,
    foreign_sources TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(foreign_sources)),
    tainted INTEGER NOT NULL GENERATED ALWAYS AS (foreign_sources <> '[]') STORED,
    checksum BLOB NOT NULL
) STRICT;
CREATE INDEX tasks_by_project ON tasks (project_id, status);

CREATE TABLE task_needs (
    task_id TEXT NOT NULL REFERENCES tasks (id),
    needs_id TEXT NOT NULL REFERENCES tasks (id),
    PRIMARY KEY (task_id, needs_id),
    CHECK (task_id <> needs_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE questions (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    task_id TEXT REFERENCES tasks (id),        -- whose work asked
    kind TEXT NOT NULL CHECK (kind IN ('question', 'decision', 'approval')),
    question TEXT NOT NULL,
    context TEXT NOT NULL DEFAULT '',
    context_tags TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(context_tags)),
    status TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'answered', 'dropped')),
    answer TEXT NOT NULL DEFAULT '',
    asked_at REAL NOT NULL,
    answered_at REAL,
    noted_at REAL,                             -- when its answer became a chunk
    foreign_sources TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(foreign_sources)),
    tainted INTEGER NOT NULL GENERATED ALWAYS AS (foreign_sources <> '[]') STORED,
    checksum BLOB NOT NULL
) STRICT;
CREATE INDEX questions_by_project ON questions (project_id, status);

CREATE TABLE question_blocks (
    question_id TEXT NOT NULL REFERENCES questions (id),
    task_id TEXT NOT NULL REFERENCES tasks (id),
    PRIMARY KEY (question_id, task_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE activities (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project_id TEXT NOT NULL REFERENCES projects (id),
    task_id TEXT REFERENCES tasks (id),
    action TEXT NOT NULL,
    details TEXT NOT NULL DEFAULT '',
    skill_area TEXT NOT NULL DEFAULT '',
    happened_at REAL NOT NULL
) STRICT;
CREATE INDEX activities_by_project ON activities (project_id, happened_at DESC);

-- Each call of a model or a tool within one try of a task: written before it, and after it.
CREATE TABLE steps (
    task_id TEXT NOT NULL REFERENCES tasks (id),
    attempt INTEGER NOT NULL,
    position INTEGER NOT NULL,
    tool TEXT NOT NULL,
    arguments TEXT NOT NULL,
    result TEXT NOT NULL DEFAULT '',
    state TEXT NOT NULL CHECK (state IN ('begun', 'done', 'failed', 'unknown')),
    began_at REAL NOT NULL,
    ended_at REAL,
    foreign_sources TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(foreign_sources)),
    tainted INTEGER NOT NULL GENERATED ALWAYS AS (foreign_sources <> '[]') STORED,
    PRIMARY KEY (task_id, attempt, position)
) STRICT;

-- One thing that a project knows.
CREATE TABLE chunks (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    title TEXT NOT NULL DEFAULT '',
    content TEXT NOT NULL,
    type TEXT NOT NULL CHECK (type IN ('research', 'insight', 'decision', 'resource', 'attempt', 'user_input')),
    tags TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(tags)),
    confidence TEXT NOT NULL CHECK (confidence IN ('verified', 'inferred', 'speculative')),
    source TEXT NOT NULL CHECK (source IN ('research', 'user', 'deduction', 'experiment')),
    rests_on TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(rests_on)),   -- ids of the chunks that it was made of
    task_id TEXT REFERENCES tasks (id),        -- whose work found it
    fell_because TEXT NOT NULL DEFAULT '',     -- contradicted or replaced: why; empty while it stands
    created_at REAL NOT NULL,
    last_accessed_at REAL NOT NULL,
    access_count INTEGER NOT NULL DEFAULT 0,
    last_useful_at REAL,
    foreign_sources TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(foreign_sources)),
    tainted INTEGER NOT NULL GENERATED ALWAYS AS (foreign_sources <> '[]') STORED,
    checksum BLOB NOT NULL
) STRICT;
CREATE INDEX chunks_by_project ON chunks (project_id, type);
CREATE INDEX chunks_by_confidence ON chunks (project_id, confidence);

CREATE TABLE chunk_vectors (
    chunk_id TEXT NOT NULL REFERENCES chunks (id) ON DELETE CASCADE,
    model_id TEXT NOT NULL,
    vector BLOB NOT NULL,          -- float32, little-endian, unit length
    PRIMARY KEY (chunk_id, model_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX task_needs_by_need ON task_needs (needs_id);
CREATE INDEX tasks_by_goal ON tasks (goal_id);
CREATE INDEX activities_by_task ON activities (task_id);
CREATE INDEX question_blocks_by_task ON question_blocks (task_id);
CREATE INDEX chunks_by_task ON chunks (task_id);
CREATE INDEX questions_by_task ON questions (task_id);

-- Named taint: no source is ever taken off a row, and what is made of others has theirs.
CREATE TRIGGER orientation_taint_stays BEFORE UPDATE OF foreign_sources ON orientation
WHEN EXISTS (SELECT value FROM json_each(old.foreign_sources) EXCEPT SELECT value FROM json_each(new.foreign_sources))
BEGIN SELECT raise(ABORT, 'a taint never goes'); END;
CREATE TRIGGER orientation_guarded BEFORE INSERT ON orientation
WHEN EXISTS (
    SELECT source.value FROM orientation AS earlier, json_each(earlier.foreign_sources) AS source
    WHERE earlier.project_id = new.project_id AND earlier.version = new.version - 1
    EXCEPT SELECT value FROM json_each(new.foreign_sources)
)
BEGIN SELECT raise(ABORT, 'what is made of tainted text is tainted'); END;
CREATE TRIGGER tasks_taint_stays BEFORE UPDATE OF foreign_sources ON tasks
WHEN EXISTS (SELECT value FROM json_each(old.foreign_sources) EXCEPT SELECT value FROM json_each(new.foreign_sources))
BEGIN SELECT raise(ABORT, 'a taint never goes'); END;
CREATE TRIGGER tasks_guarded BEFORE INSERT ON tasks
WHEN EXISTS (
    SELECT source.value FROM json_each(new.rests_on) AS base JOIN chunks AS made_of ON made_of.id = base.value,
        json_each(made_of.foreign_sources) AS source
    EXCEPT SELECT value FROM json_each(new.foreign_sources)
)
BEGIN SELECT raise(ABORT, 'what is made of tainted text is tainted'); END;
CREATE TRIGGER questions_taint_stays BEFORE UPDATE OF foreign_sources ON questions
WHEN EXISTS (SELECT value FROM json_each(old.foreign_sources) EXCEPT SELECT value FROM json_each(new.foreign_sources))
BEGIN SELECT raise(ABORT, 'a taint never goes'); END;
CREATE TRIGGER questions_guarded BEFORE INSERT ON questions
WHEN EXISTS (
    SELECT source.value FROM tasks AS asking, json_each(asking.foreign_sources) AS source WHERE asking.id = new.task_id
    EXCEPT SELECT value FROM json_each(new.foreign_sources)
)
BEGIN SELECT raise(ABORT, 'what is made of tainted text is tainted'); END;
CREATE TRIGGER steps_taint_stays BEFORE UPDATE OF foreign_sources ON steps
WHEN EXISTS (SELECT value FROM json_each(old.foreign_sources) EXCEPT SELECT value FROM json_each(new.foreign_sources))
BEGIN SELECT raise(ABORT, 'a taint never goes'); END;
CREATE TRIGGER steps_guarded BEFORE INSERT ON steps
WHEN EXISTS (
    SELECT source.value FROM tasks AS asking, json_each(asking.foreign_sources) AS source WHERE asking.id = new.task_id
    EXCEPT SELECT value FROM json_each(new.foreign_sources)
)
BEGIN SELECT raise(ABORT, 'what is made of tainted text is tainted'); END;
CREATE TRIGGER chunks_taint_stays BEFORE UPDATE OF foreign_sources ON chunks
WHEN EXISTS (SELECT value FROM json_each(old.foreign_sources) EXCEPT SELECT value FROM json_each(new.foreign_sources))
BEGIN SELECT raise(ABORT, 'a taint never goes'); END;
CREATE TRIGGER chunks_guarded BEFORE INSERT ON chunks
WHEN EXISTS (
    SELECT source.value FROM json_each(new.rests_on) AS base JOIN chunks AS made_of ON made_of.id = base.value,
        json_each(made_of.foreign_sources) AS source
    EXCEPT SELECT value FROM json_each(new.foreign_sources)
)
BEGIN SELECT raise(ABORT, 'what is made of tainted text is tainted'); END;
