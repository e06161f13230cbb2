-- name: put
INSERT INTO wishes (id, project_id, task_id, question_id, action, title, due, state, created_at, checksum)
VALUES (:id, :project_id, :task_id, :question_id, :action, :title, :due, 'proposed', :now, :checksum)

-- name: proposed
SELECT id, project_id, task_id, question_id, action, title, due, created_at FROM wishes WHERE state = 'proposed'
ORDER BY created_at DESC, id LIMIT 1

-- name: replace
-- A newer wish takes the place of one that nobody answered.
UPDATE wishes SET state = 'declined', decided_at = :now WHERE state = 'proposed'

-- name: decide
UPDATE wishes SET state = :state, decided_at = :now WHERE id = :id AND state = 'proposed'
