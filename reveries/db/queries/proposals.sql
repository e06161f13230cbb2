-- name: of_project
SELECT id, project_id, title, due, state, document, line, source_line, task_id, created_at, decided_at, foreign_sources
FROM proposals WHERE project_id = :project_id ORDER BY document, line, id

-- name: put
INSERT INTO proposals (id, project_id, title, due, state, document, line, source_line, created_at, foreign_sources,
    checksum)
VALUES (:id, :project_id, :title, :due, 'proposed', :document, :line, :source_line, :now, :foreign_sources, :checksum)

-- name: move
-- Its line stands somewhere else in the document, or is back: what the owner decided stays.
UPDATE proposals SET line = :line, state = CASE WHEN state = 'gone' THEN 'proposed' ELSE state END WHERE id = :id

-- name: note_gone
UPDATE proposals SET state = 'gone' WHERE id = :id AND state = 'proposed'

-- name: decide
UPDATE proposals SET state = :state, task_id = :task_id, decided_at = :now WHERE id = :id AND state = 'proposed'
