-- name: put
INSERT INTO chunks (id, project_id, title, content, type, tags, confidence, source, rests_on, task_id, created_at,
    last_accessed_at, foreign_sources, checksum)
VALUES (:id, :project_id, :title, :content, :type, :tags, :confidence, :source, :rests_on, :task_id, :created_at,
    :created_at, :foreign_sources, :checksum)

-- name: put_vector
INSERT OR REPLACE INTO chunk_vectors (chunk_id, model_id, vector) VALUES (:chunk_id, :model_id, :vector)

-- name: of_project
SELECT id, project_id, title, content, type, tags, confidence, source, rests_on, task_id, fell_because, created_at,
    foreign_sources
FROM chunks WHERE project_id = :project_id ORDER BY created_at, id

-- name: with_vectors
SELECT chunks.id, vector FROM chunks JOIN chunk_vectors ON chunk_vectors.chunk_id = chunks.id
WHERE project_id = :project_id AND model_id = :model_id ORDER BY chunks.created_at, chunks.id

-- name: without_vector
SELECT id, title, content FROM chunks
WHERE project_id = :project_id AND id NOT IN (SELECT chunk_id FROM chunk_vectors WHERE model_id = :model_id)

-- name: touch
UPDATE chunks SET last_accessed_at = :now, access_count = access_count + 1
WHERE id IN (SELECT value FROM json_each(:ids))

-- name: note_useful
UPDATE chunks SET last_useful_at = :now WHERE id IN (SELECT value FROM json_each(:ids))

-- name: mark_fallen
UPDATE chunks SET fell_because = :why WHERE id = :id AND project_id = :project_id AND fell_because = ''
