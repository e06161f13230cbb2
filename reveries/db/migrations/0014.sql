-- From schema 13 to 14: goals, answers and new projects, too, may wait for a yes; documents are rows, their sections belong
-- to them by id, and how a chunk fell is a column. Columns that no statement wrote are gone.

ALTER TABLE wishes RENAME TO wishes_before;
DROP INDEX wishes_by_state;
DROP INDEX wishes_by_project;
DROP INDEX wishes_by_task;

CREATE TABLE wishes (                -- changes that the owner's words in a conversation ask for, after a yes
    id TEXT PRIMARY KEY,
    project_id TEXT REFERENCES projects (id),      -- null: a project to be begun
    task_id TEXT REFERENCES tasks (id),
    question_id TEXT REFERENCES questions (id),    -- the one that is answered
    action TEXT NOT NULL CHECK (action IN ('move', 'drop', 'start', 'done', 'add', 'goal', 'answer', 'begin', 'pursue')),
    title TEXT NOT NULL DEFAULT '',        -- of a task or project to be made; the goal; the answer
    due TEXT NOT NULL DEFAULT '',          -- the new day
    state TEXT NOT NULL CHECK (state IN ('proposed', 'applied', 'declined')),
    created_at REAL NOT NULL,
    decided_at REAL,
    checksum BLOB NOT NULL,
    CHECK (project_id IS NOT NULL OR action IN ('begin', 'pursue')),
    CHECK (question_id IS NOT NULL OR action <> 'answer')
) STRICT;
CREATE INDEX wishes_by_state ON wishes (state);
CREATE INDEX wishes_by_project ON wishes (project_id);
CREATE INDEX wishes_by_task ON wishes (task_id);
CREATE INDEX wishes_by_question ON wishes (question_id);

INSERT INTO wishes (id, project_id, task_id, action, title, due, state, created_at, decided_at, checksum)
SELECT id, project_id, task_id, action, title, due, state, created_at, decided_at, checksum FROM wishes_before;
DROP TABLE wishes_before;


CREATE TABLE documents (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    origin TEXT NOT NULL CHECK (origin IN ('folder', 'added')),
    path TEXT NOT NULL,
    name TEXT NOT NULL,
    media_type TEXT NOT NULL DEFAULT '',
    sha256 TEXT NOT NULL DEFAULT '',
    bytes INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL DEFAULT 'present' CHECK (state IN ('present', 'gone')),
    is_trusted INTEGER NOT NULL CHECK (is_trusted IN (0, 1)),
    added_at REAL NOT NULL
) STRICT;
CREATE INDEX documents_by_project ON documents (project_id);

ALTER TABLE chunks DROP COLUMN tier;
ALTER TABLE chunks DROP COLUMN status;
ALTER TABLE chunks ADD COLUMN document_id TEXT REFERENCES documents (id) ON DELETE SET NULL;
ALTER TABLE chunks ADD COLUMN fall TEXT NOT NULL DEFAULT ''
    CHECK (fall IN ('', 'left_document', 'retracted', 'contradicted', 'premise'));
CREATE INDEX chunks_by_document ON chunks (document_id);
CREATE TRIGGER documents_without_their_text AFTER DELETE ON chunks WHEN old.document_id IS NOT NULL
BEGIN
    UPDATE documents SET sha256 = '' WHERE id = old.document_id;
END;
