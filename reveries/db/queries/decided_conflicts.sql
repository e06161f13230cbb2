-- name: of_project
SELECT id, project_id, a_document, a_text, b_document, b_text, state, decided_by, reason, model, decided_at
FROM decided_conflicts WHERE project_id = :project_id ORDER BY decided_at, id

-- name: drop_same
DELETE FROM decided_conflicts WHERE project_id = :project_id AND a_document = :a_document AND a_text = :a_text
    AND b_document = :b_document AND b_text = :b_text

-- name: put
INSERT INTO decided_conflicts (id, project_id, a_document, a_text, b_document, b_text, state, decided_by, reason, model,
    rests_on, decided_at, foreign_sources, checksum)
VALUES (:id, :project_id, :a_document, :a_text, :b_document, :b_text, :state, :decided_by, :reason, :model, :rests_on,
    :now, :foreign_sources, :checksum)
