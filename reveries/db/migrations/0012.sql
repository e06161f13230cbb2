-- From schema 11 to 12: tools, and what the owner allowed them.

ALTER TABLE projects ADD COLUMN folder TEXT NOT NULL DEFAULT '';
ALTER TABLE projects ADD COLUMN may_write INTEGER NOT NULL DEFAULT 0 CHECK (may_write IN (0, 1));
ALTER TABLE tasks ADD COLUMN try_began_at REAL;
ALTER TABLE questions ADD COLUMN payload TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(payload));
ALTER TABLE steps ADD COLUMN reach TEXT NOT NULL DEFAULT '' CHECK (reach IN ('', 'look', 'inside', 'out'));
ALTER TABLE steps ADD COLUMN exit_code INTEGER;
ALTER TABLE steps ADD COLUMN sha256 TEXT NOT NULL DEFAULT '';
ALTER TABLE steps ADD COLUMN path TEXT NOT NULL DEFAULT '';

-- What the owner allowed in a project: a tool that reaches out, a foreign source that may stand before such a tool, or
-- one call alone, by its digest. `task_id`: within this task only.
CREATE TABLE grants (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    task_id TEXT REFERENCES tasks (id),
    kind TEXT NOT NULL CHECK (kind IN ('tool', 'source', 'call', 'denial')),
    name TEXT NOT NULL,
    given_at REAL NOT NULL,
    used_at REAL,                  -- of one call: when it was made
    revoked_at REAL
) STRICT;
CREATE INDEX grants_by_project ON grants (project_id);
CREATE INDEX grants_by_task ON grants (task_id);
