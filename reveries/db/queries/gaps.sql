-- name: open
INSERT INTO gaps (id, conversation_id, started_at) VALUES (:id, :conversation_id, :started_at);

-- name: close
UPDATE gaps SET ended_at = :ended_at, duration_seconds = :duration_seconds, significance = :significance WHERE id = :id;

-- name: still_open
SELECT * FROM gaps WHERE ended_at IS NULL ORDER BY started_at DESC LIMIT 1;

-- name: ended_between
SELECT * FROM gaps WHERE ended_at BETWEEN :first AND :last;
