-- Documents: texts and files that the owner added to a project, and files of its folder.

-- name: of_project
SELECT id, project_id, origin, path, name, media_type, sha256, bytes, state, is_trusted, added_at, original, version, reading,
    failure, tries, page_count
FROM documents WHERE project_id = :project_id ORDER BY added_at, rowid

-- name: named
SELECT id, project_id, origin, path, name, media_type, sha256, bytes, state, is_trusted, added_at, original, version, reading,
    failure, tries, page_count
FROM documents WHERE id = :id

-- name: to_read
SELECT id, project_id, origin, path, name, media_type, sha256, bytes, state, is_trusted, added_at, original, version, reading,
    failure, tries, page_count
FROM documents WHERE reading IN ('pending', 'processing')
    AND project_id IN (SELECT id FROM projects WHERE state <> 'archived')
ORDER BY added_at, rowid

-- name: put
INSERT INTO documents (id, project_id, origin, path, name, media_type, sha256, bytes, state, is_trusted, added_at, original, version, reading,
    failure, tries, page_count)
VALUES (:id, :project_id, :origin, :path, :name, :media_type, :sha256, :bytes, :state, :is_trusted, :added_at,
    :original, :version, :reading, :failure, :tries, :page_count)
ON CONFLICT (id) DO UPDATE SET path = :path, media_type = :media_type, sha256 = :sha256, bytes = :bytes, state = :state,
    is_trusted = :is_trusted, original = :original, version = :version, reading = :reading, failure = :failure,
    tries = :tries, page_count = :page_count

-- name: mark_gone
UPDATE documents SET state = 'gone' WHERE id = :id

-- name: originals
SELECT DISTINCT original FROM documents WHERE original <> ''

-- name: kept
SELECT name, original FROM documents WHERE original <> '' ORDER BY added_at, rowid
