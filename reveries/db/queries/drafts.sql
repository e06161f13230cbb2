-- name: of_project
SELECT id, project_id, wish, content, doubts, rests_on, flagged_because, made_by, created_at, foreign_sources
FROM drafts WHERE project_id = :project_id ORDER BY created_at DESC, id

-- name: put
INSERT INTO drafts (id, project_id, wish, content, doubts, rests_on, made_by, created_at, foreign_sources, checksum)
VALUES (:id, :project_id, :wish, :content, :doubts, :rests_on, :made_by, :now, :foreign_sources, :checksum)

-- name: drop_same
DELETE FROM drafts WHERE project_id = :project_id AND wish = :wish

-- name: drop
DELETE FROM drafts WHERE id = :id

-- name: flag
UPDATE drafts SET flagged_because = :why WHERE id = :id
