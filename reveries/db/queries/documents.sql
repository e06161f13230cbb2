-- Documents: texts that the owner added to a project, and files of its folder.

-- name: of_project
SELECT id, project_id, origin, path, name, media_type, sha256, bytes, state, is_trusted, added_at
FROM documents WHERE project_id = :project_id ORDER BY added_at, rowid

-- name: put
INSERT INTO documents (id, project_id, origin, path, name, media_type, sha256, bytes, state, is_trusted, added_at)
VALUES (:id, :project_id, :origin, :path, :name, :media_type, :sha256, :bytes, :state, :is_trusted, :added_at)
ON CONFLICT (id) DO UPDATE SET path = :path, media_type = :media_type, sha256 = :sha256, bytes = :bytes, state = :state,
    is_trusted = :is_trusted

-- name: mark_gone
UPDATE documents SET state = 'gone' WHERE id = :id
