-- name: put
INSERT INTO relations (id, from_id, to_id, type, weight, origin, context_tags, confidence, confidence_source,
    activation_count, last_activated_at, created_at, valid_from, derived_from, resolved_at, resolution)
VALUES (:id, :from_id, :to_id, :type, :weight, :origin, :context_tags, :confidence, :confidence_source,
    0, :now, :now, :now, :derived_from, :resolved_at, :resolution)

-- name: change
UPDATE relations SET weight = :weight, context_tags = :context_tags, activation_count = :activation_count,
    last_activated_at = :last_activated_at, valid_until = :valid_until, archived_at = :archived_at, archive_reason = :archive_reason,
    final_weight = :final_weight, confidence_source = :confidence_source, resolved_at = :resolved_at,
    resolution = :resolution
WHERE id = :id

-- name: resolve
UPDATE relations SET resolved_at = :now, resolution = :resolution, confidence_source = :confidence_source
WHERE id = :id

-- name: note_unclear
UPDATE relations SET confidence = :confidence WHERE id = :id

-- name: activate
UPDATE relations SET last_activated_at = :now WHERE id IN (SELECT value FROM json_each(:ids)) AND archived_at IS NULL

-- name: between
SELECT relations.id, from_id, to_id, relations.type, weight, origin, context_tags, relations.confidence, confidence_source,
    activation_count, last_activated_at, relations.created_at, resolved_at, resolution, archived_at, archive_reason,
    final_weight, derived_from, relations.valid_from, relations.valid_until
FROM relations WHERE from_id = :from_id AND to_id = :to_id ORDER BY weight DESC, relations.id

-- name: of_chunk
SELECT relations.id, from_id, to_id, relations.type, weight, origin, context_tags, relations.confidence, confidence_source,
    activation_count, last_activated_at, relations.created_at, resolved_at, resolution, archived_at, archive_reason,
    final_weight, derived_from, relations.valid_from, relations.valid_until
FROM relations WHERE from_id = :id OR to_id = :id ORDER BY weight DESC, relations.id

-- name: of_project
SELECT relations.id, from_id, to_id, relations.type, weight, origin, context_tags, relations.confidence, confidence_source,
    activation_count, last_activated_at, relations.created_at, resolved_at, resolution, archived_at, archive_reason,
    final_weight, derived_from, relations.valid_from, relations.valid_until
FROM relations JOIN chunks ON chunks.id = from_id WHERE project_id = :project_id ORDER BY relations.created_at, relations.id

-- name: by_id
SELECT relations.id, from_id, to_id, relations.type, weight, origin, context_tags, relations.confidence, confidence_source,
    activation_count, last_activated_at, relations.created_at, resolved_at, resolution, archived_at, archive_reason,
    final_weight, derived_from, relations.valid_from, relations.valid_until
FROM relations WHERE id = :id

-- name: contradictions
-- Newest first.
SELECT relations.id, from_id, to_id, relations.type, weight, origin, context_tags, relations.confidence, confidence_source,
    activation_count, last_activated_at, relations.created_at, resolved_at, resolution, archived_at, archive_reason,
    final_weight, derived_from, relations.valid_from, relations.valid_until
FROM relations JOIN chunks ON chunks.id = from_id
WHERE project_id = :project_id AND relations.type = 'contradicts' AND (resolved_at IS NULL OR :with_settled)
ORDER BY relations.created_at DESC, relations.id DESC

-- name: leads
-- The relations that a search may follow, oldest first.
SELECT from_id, to_id, relations.type, weight, confidence_source FROM relations JOIN chunks ON chunks.id = from_id
WHERE project_id = :project_id AND archived_at IS NULL AND relations.type <> 'contradicts'
ORDER BY relations.created_at, relations.id

-- name: weights_of_chunks
-- The sum of the weights of what a search may follow from each of these chunks.
SELECT chunk_id, sum(weight) AS weight FROM (
    SELECT from_id AS chunk_id, weight FROM relations
    WHERE from_id IN (SELECT value FROM json_each(:ids)) AND archived_at IS NULL AND type <> 'contradicts'
    UNION ALL
    SELECT to_id, weight FROM relations
    WHERE to_id IN (SELECT value FROM json_each(:ids)) AND archived_at IS NULL AND type <> 'contradicts'
) GROUP BY chunk_id

-- name: greatest_weight
-- The greatest such sum of any chunk of a project.
SELECT max(weight) AS weight FROM (
    SELECT sum(weight) AS weight FROM (
        SELECT from_id AS chunk_id, weight FROM relations JOIN chunks ON chunks.id = from_id
        WHERE project_id = :project_id AND archived_at IS NULL AND relations.type <> 'contradicts'
        UNION ALL
        SELECT to_id, weight FROM relations JOIN chunks ON chunks.id = from_id
        WHERE project_id = :project_id AND archived_at IS NULL AND relations.type <> 'contradicts'
    ) GROUP BY chunk_id
)

-- name: of_uncounted_pairs
-- Includes archived relations.
SELECT relations.id, from_id, to_id, relations.type, weight, origin, context_tags, relations.confidence, confidence_source,
    activation_count, last_activated_at, relations.created_at, resolved_at, resolution, archived_at, archive_reason,
    final_weight, derived_from, relations.valid_from, relations.valid_until
FROM relations JOIN chunks ON chunks.id = from_id
WHERE project_id = :project_id AND EXISTS (
    SELECT 1 FROM coretrievals
    WHERE a_id = min(from_id, to_id) AND b_id = max(from_id, to_id) AND counted_at IS NULL
)

-- name: put_coretrieval
INSERT OR IGNORE INTO coretrievals (a_id, b_id, session_id, query, happened_at)
SELECT min(one.id, other.id), max(one.id, other.id), :session_id, :query, :now
FROM chunks AS one JOIN chunks AS other ON one.project_id = other.project_id
WHERE one.id = :a_id AND other.id = :b_id AND one.id <> other.id

-- name: uncounted_pairs
SELECT a_id, b_id, count(*) AS fresh,
    (SELECT count(*) FROM coretrievals AS every WHERE every.a_id = fresh.a_id AND every.b_id = fresh.b_id) AS number
FROM coretrievals AS fresh JOIN chunks ON chunks.id = a_id
WHERE project_id = :project_id AND counted_at IS NULL GROUP BY a_id, b_id

-- name: uncounted_projects
SELECT DISTINCT project_id FROM coretrievals JOIN chunks ON chunks.id = a_id WHERE counted_at IS NULL

-- name: mark_counted
UPDATE coretrievals SET counted_at = :now
WHERE counted_at IS NULL AND a_id IN (SELECT id FROM chunks WHERE project_id = :project_id)

-- name: clean_coretrievals
DELETE FROM coretrievals WHERE happened_at < :before
