-- What replies rest on in documents.

-- name: put
INSERT INTO citations (turn_id, position, pointer_id, short_id, state, made_by, document, page_number, page_label, quote,
    boxes)
VALUES (:turn_id, :position, (SELECT id FROM chunks WHERE id = :pointer_id), :short_id, :state, :made_by, :document,
    :page_number, :page_label, :quote, :boxes)

-- name: of_turns
SELECT turn_id, pointer_id, short_id, state, made_by, document, page_number, page_label, quote, boxes
FROM citations WHERE turn_id IN (SELECT value FROM json_each(:ids)) ORDER BY turn_id, position
