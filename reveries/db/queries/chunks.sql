-- name: put
INSERT INTO chunks (id, project_id, title, content, type, tags, confidence, source, rests_on, task_id, created_at,
    last_accessed_at, foreign_sources, checksum, memory_type, valid_from, names,
    first_line, lead, written_on, document_id)
VALUES (:id, :project_id, :title, :content, :type, :tags, :confidence, :source, :rests_on, :task_id, :created_at,
    :created_at, :foreign_sources, :checksum, :memory_type, :valid_from, :names,
    :first_line, :lead, :written_on, :document_id)

-- name: put_vector
INSERT OR REPLACE INTO chunk_vectors (chunk_id, model_id, vector) VALUES (:chunk_id, :model_id, :vector)

-- name: of_project
-- Without pointers, of which a project may have many, except those that something rests on.
WITH rested (id) AS (
    SELECT value FROM chunks AS made, json_each(made.rests_on) WHERE made.project_id = :project_id
    UNION SELECT value FROM tasks, json_each(tasks.rests_on) WHERE tasks.project_id = :project_id
    UNION SELECT atom FROM orientation, json_tree(orientation.content)
        WHERE orientation.project_id = :project_id AND json_tree.type = 'text'
            AND version = (SELECT max(version) FROM orientation WHERE project_id = :project_id)
)
SELECT id, project_id, title, content, type, tags, confidence, source, rests_on, task_id, fell_because, created_at,
    foreign_sources, last_accessed_at, access_count, last_useful_at, memory_type, pinned, valid_from, valid_until,
    source_confidence, extraction_confidence, initial_strength, decay_function, decay_rate, superseded_by,
    first_line, lead, written_on, fall, document_id,
    coalesce((SELECT name FROM documents WHERE documents.id = document_id), '') AS document
FROM chunks
WHERE project_id = :project_id
    AND (NOT EXISTS (SELECT 1 FROM pointers WHERE chunk_id = chunks.id) OR id IN (SELECT id FROM rested))
ORDER BY created_at, rowid

-- name: named
SELECT id, project_id, title, content, type, tags, confidence, source, rests_on, task_id, fell_because, created_at,
    foreign_sources, last_accessed_at, access_count, last_useful_at, memory_type, pinned, valid_from, valid_until,
    source_confidence, extraction_confidence, initial_strength, decay_function, decay_rate, superseded_by,
    first_line, lead, written_on, fall, document_id,
    coalesce((SELECT name FROM documents WHERE documents.id = document_id), '') AS document
FROM chunks WHERE project_id = :project_id AND id IN (SELECT value FROM json_each(:ids))

-- name: replaced
SELECT id FROM chunks WHERE project_id = :project_id AND superseded_by IS NOT NULL

-- name: replaced_by
SELECT id FROM chunks WHERE project_id = :project_id AND superseded_by = :id ORDER BY created_at, id

-- name: by_tags
SELECT id, project_id, title, content, type, tags, confidence, source, rests_on, task_id, fell_because, created_at,
    foreign_sources, last_accessed_at, access_count, last_useful_at, memory_type, pinned, valid_from, valid_until,
    source_confidence, extraction_confidence, initial_strength, decay_function, decay_rate, superseded_by,
    first_line, lead, written_on, fall, document_id,
    coalesce((SELECT name FROM documents WHERE documents.id = document_id), '') AS document
FROM chunks
WHERE project_id = :project_id AND id NOT IN (SELECT chunk_id FROM pointers)
    AND NOT EXISTS (SELECT value FROM json_each(:tags) EXCEPT SELECT value FROM json_each(chunks.tags))
    AND (:any_tags = '[]'
        OR EXISTS (SELECT value FROM json_each(:any_tags) INTERSECT SELECT value FROM json_each(chunks.tags)))
ORDER BY created_at DESC, id LIMIT :limit OFFSET :offset

-- name: numbers_that_fit
SELECT number FROM chunk_numbers JOIN chunks ON chunks.id = chunk_id
WHERE project_id = :project_id
    AND (:types = '[]' OR type IN (SELECT value FROM json_each(:types)))
    AND (:confidence = '[]' OR confidence IN (SELECT value FROM json_each(:confidence)))
    AND (:since IS NULL OR created_at >= :since)
    AND (:until IS NULL OR created_at <= :until)
    AND NOT EXISTS (SELECT value FROM json_each(:tags) EXCEPT SELECT value FROM json_each(chunks.tags))
    AND (:any_tags = '[]'
        OR EXISTS (SELECT value FROM json_each(:any_tags) INTERSECT SELECT value FROM json_each(chunks.tags)))

-- name: without_vector
SELECT id, title, content FROM chunks
WHERE project_id = :project_id AND id NOT IN (SELECT chunk_id FROM chunk_vectors WHERE model_id = :model_id)
    AND id NOT IN (SELECT chunk_id FROM pointers)

-- name: after_number
SELECT number, chunks.id, title, content, names, vector,
    fell_because <> '' OR EXISTS (SELECT 1 FROM json_each(tags) WHERE value = 'orientation_archive') AS is_hidden
FROM chunk_numbers JOIN chunks ON chunks.id = chunk_numbers.chunk_id
LEFT JOIN chunk_vectors ON chunk_vectors.chunk_id = chunks.id AND model_id = :model_id
WHERE project_id = :project_id AND number > :number AND chunks.id NOT IN (SELECT chunk_id FROM pointers)
ORDER BY number

-- name: count_in_project
SELECT count(*) AS number FROM chunks
WHERE project_id = :project_id AND id NOT IN (SELECT chunk_id FROM pointers)

-- name: by_words
-- Not among pointers, which are searched with their pages (knowledge/document_index.py).
SELECT rowid AS number FROM chunk_words
WHERE chunk_words MATCH :words
    AND rowid NOT IN (SELECT number FROM chunk_numbers JOIN pointers ON pointers.chunk_id = chunk_numbers.chunk_id)
ORDER BY bm25(chunk_words, 0.0, 1.0, 1.0), rowid LIMIT :limit

-- name: touch
UPDATE chunks SET last_accessed_at = :now, access_count = access_count + 1
WHERE id IN (SELECT value FROM json_each(:ids))

-- name: note_useful
UPDATE chunks SET last_useful_at = :now WHERE id IN (SELECT value FROM json_each(:ids))

-- name: restore_times
-- Of a chunk that comes from elsewhere with its own times.
UPDATE chunks SET created_at = :created_at, last_accessed_at = :last_accessed_at, last_useful_at = :last_useful_at,
    access_count = :access_count, valid_from = :created_at
WHERE id = :id

-- name: mark_fallen
-- A chunk that was replaced before held until then.
UPDATE chunks SET fell_because = :why, fall = :fall, valid_until = coalesce(valid_until, :now)
WHERE id = :id AND project_id = :project_id AND fell_because = ''

-- name: mark_superseded
-- A chunk that fell or was replaced before held until then.
UPDATE chunks SET superseded_by = :by, valid_until = coalesce(valid_until, :now) WHERE id = :id AND project_id = :project_id

-- name: unmark_superseded
UPDATE chunks SET superseded_by = NULL, valid_until = CASE WHEN fell_because = '' THEN NULL ELSE valid_until END
WHERE id = :id AND superseded_by = :by

-- name: place
-- Where a section stands in the latest version of its document.
UPDATE chunks SET first_line = :first_line, lead = :lead WHERE id = :id
