-- Rows of schema 13 and earlier, in a migrated memory and in an imported file: until then a document was the part of its
-- sections' titles before " › ", and a section that had left it said so in a sentence.

INSERT INTO documents (id, project_id, origin, path, name, media_type, is_trusted, added_at)
SELECT min(id), project_id, CASE sources WHEN '["folder"]' THEN 'folder' ELSE 'added' END, document, document,
    'text/plain', min(sources = '[]'), min(created_at)
FROM (
    SELECT id, project_id, created_at, foreign_sources AS sources,
        substr(title, 1, instr(title || ' › ', ' › ') - 1) AS document
    FROM chunks
    WHERE type = 'resource' AND task_id IS NULL AND title <> ''
        AND (foreign_sources IN ('[]', '["folder"]') OR foreign_sources LIKE '["document:____________"]')
)
GROUP BY project_id, document, sources = '["folder"]';

UPDATE documents SET name = name || ' (added)'
WHERE origin = 'added' AND EXISTS (
    SELECT 1 FROM documents AS note
    WHERE note.project_id = documents.project_id AND note.origin = 'folder' AND note.path = documents.path
);

UPDATE chunks SET document_id = (
    SELECT documents.id FROM documents
    WHERE documents.project_id = chunks.project_id
        AND documents.path = substr(chunks.title, 1, instr(chunks.title || ' › ', ' › ') - 1)
        AND documents.origin = CASE chunks.foreign_sources WHEN '["folder"]' THEN 'folder' ELSE 'added' END
)
WHERE type = 'resource' AND task_id IS NULL AND title <> ''
    AND (foreign_sources IN ('[]', '["folder"]') OR foreign_sources LIKE '["document:____________"]');

UPDATE chunks SET fall = CASE
    WHEN fell_because = 'it stands no more in ' || (SELECT path FROM documents WHERE documents.id = document_id)
    THEN 'left_document' ELSE 'retracted' END
WHERE fell_because <> '';
