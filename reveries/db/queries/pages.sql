-- Pages of documents, and the places of pointers on them.

-- name: put
INSERT OR IGNORE INTO pages (id, document_id, version, number, label, section, kind, width, height, rotation, text,
    text_from, recognition, outline, cross_references, checksum)
VALUES (:id, :document_id, :version, :number, :label, :section, :kind, :width, :height, :rotation, :text,
    :text_from, :recognition, :outline, :cross_references, :checksum)

-- name: replace_text
UPDATE pages SET label = :label, section = :section, kind = :kind, text = :text, text_from = :text_from,
    recognition = :recognition, outline = :outline, cross_references = :cross_references, checksum = :checksum
WHERE id = :id

-- name: mark_recognition
UPDATE pages SET recognition = :recognition WHERE id = :id

-- name: retry_recognition
UPDATE pages SET recognition = 'pending' WHERE document_id = :document_id AND recognition = 'failed'

-- name: of_document
SELECT id, document_id, version, number, label, section, kind, width, height, rotation, text, text_from, recognition,
    outline, cross_references
FROM pages
WHERE document_id = :document_id AND version = :version AND number BETWEEN :first AND :last ORDER BY number

-- name: named
SELECT id, document_id, version, number, label, section, kind, width, height, rotation, text, text_from, recognition,
    outline, cross_references
FROM pages WHERE id IN (SELECT value FROM json_each(:ids))

-- name: counts
-- For each document of a project, its pages of the newest version, by what is left to do with them.
SELECT documents.id, count(pages.id) AS pages, coalesce(sum(recognition = 'pending'), 0) AS to_recognise,
    coalesce(sum(recognition = 'failed'), 0) AS unrecognised, coalesce(max(number), 0) AS last,
    (SELECT count(*) FROM pages AS earlier
        WHERE earlier.document_id = documents.id AND earlier.version < documents.version) AS earlier
FROM documents LEFT JOIN pages ON pages.document_id = documents.id AND pages.version = documents.version
WHERE project_id = :project_id GROUP BY documents.id

-- name: last_number
SELECT coalesce(max(number), 0) AS number FROM pages WHERE document_id = :document_id AND version = :version

-- name: to_recognise
SELECT pages.id, document_id FROM pages JOIN documents ON documents.id = document_id
WHERE recognition = 'pending' AND pages.version = documents.version AND documents.state = 'present'
    AND documents.original <> '' AND project_id IN (SELECT id FROM projects WHERE state <> 'archived')
ORDER BY documents.added_at, number LIMIT :limit

-- name: drop_of_document
DELETE FROM pages WHERE document_id = :document_id AND version < :version

-- name: earlier_pointers
-- Standing pointers of a document that no page of this version, or another page, has taken over yet.
SELECT chunks.id, content FROM chunks JOIN pointers ON pointers.chunk_id = chunks.id
LEFT JOIN pages ON pages.id = page_id
WHERE chunks.document_id = :document_id AND fell_because = ''
    AND (page_id IS NULL OR pages.version < :version OR page_id = :page_id)
ORDER BY pages.number, pointers.position

-- name: pointers_left
SELECT chunks.id FROM chunks JOIN pointers ON pointers.chunk_id = chunks.id LEFT JOIN pages ON pages.id = page_id
WHERE chunks.document_id = :document_id AND fell_because = '' AND (page_id IS NULL OR pages.version < :version)

-- name: put_pointer
INSERT INTO pointers (chunk_id, page_id, position, kind, title, cross_references)
VALUES (:chunk_id, :page_id, :position, :kind, :title, :cross_references)
ON CONFLICT (chunk_id) DO UPDATE SET page_id = :page_id, position = :position, kind = :kind, title = :title,
    cross_references = :cross_references

-- name: retitle_chunk
UPDATE chunks SET title = :title, checksum = :checksum WHERE id = :id AND title <> :title

-- name: drop_boxes
DELETE FROM pointer_boxes WHERE pointer_id = :pointer_id

-- name: put_box
INSERT INTO pointer_boxes (pointer_id, position, page_number, x, y, width, height)
VALUES (:pointer_id, :position, :page_number, :x, :y, :width, :height)

-- name: detach
UPDATE pointers SET page_id = NULL WHERE chunk_id = :id

-- name: pointers
-- Those that stand, of pages or by their ids.
SELECT chunk_id AS id, page_id, pages.document_id, pages.number AS page_number, pages.label AS page_label,
    pointers.position, pointers.kind, pointers.title, pointers.cross_references, chunks.content AS text,
    chunks.foreign_sources, chunks.project_id
FROM pointers JOIN chunks ON chunks.id = pointers.chunk_id JOIN pages ON pages.id = page_id
WHERE fell_because = ''
    AND (page_id IN (SELECT value FROM json_each(:page_ids)) OR chunk_id IN (SELECT value FROM json_each(:ids)))
ORDER BY pages.document_id, pages.number, pointers.position

-- name: boxes
SELECT pointer_id, page_number, x, y, width, height FROM pointer_boxes
WHERE pointer_id IN (SELECT value FROM json_each(:ids)) ORDER BY pointer_id, position

-- name: indexed_after
-- While a newer version of a document is read, the pages of the earlier one are still searched.
SELECT pages.rowid AS place, pages.id, document_id, number, label, section, pages.text, documents.name AS document
FROM pages JOIN documents ON documents.id = document_id
WHERE project_id = :project_id AND state = 'present' AND pages.rowid > :after ORDER BY pages.rowid LIMIT :limit

-- name: indexed
SELECT pages.id, document_id, number, label, section, pages.text, documents.name AS document
FROM pages JOIN documents ON documents.id = document_id
WHERE pages.id IN (SELECT value FROM json_each(:ids)) ORDER BY pages.rowid

-- name: indexed_pointers
SELECT chunks.id, page_id, pointers.title, content, vector
FROM pointers JOIN chunks ON chunks.id = pointers.chunk_id
LEFT JOIN chunk_vectors ON chunk_vectors.chunk_id = chunks.id AND model_id = :model_id
WHERE page_id IN (SELECT value FROM json_each(:page_ids)) AND fell_because = ''
ORDER BY page_id, position

-- name: without_vector
SELECT chunks.id, chunks.title, content, project_id FROM pointers JOIN chunks ON chunks.id = pointers.chunk_id
WHERE fell_because = '' AND page_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM chunk_vectors WHERE chunk_vectors.chunk_id = chunks.id AND model_id = :model_id)
ORDER BY chunks.rowid LIMIT :limit

-- name: is_pointer
SELECT 1 FROM pointers WHERE chunk_id = :id

-- name: count_without_vector
SELECT count(*) AS number FROM pointers JOIN chunks ON chunks.id = pointers.chunk_id
WHERE fell_because = '' AND page_id IS NOT NULL AND project_id = :project_id
    AND NOT EXISTS (SELECT 1 FROM chunk_vectors WHERE chunk_vectors.chunk_id = chunks.id AND model_id = :model_id)
