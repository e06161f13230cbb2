-- name: open
INSERT INTO gaps (id, conversation_id, started_at, felt, left_open)
VALUES (:id, :conversation_id, :started_at, :felt, :left_open);

-- name: lengths
SELECT duration_seconds FROM gaps WHERE duration_seconds IS NOT NULL ORDER BY started_at DESC LIMIT :limit;

-- name: close
UPDATE gaps SET ended_at = :ended_at, duration_seconds = :duration_seconds, significance = :significance WHERE id = :id;

-- name: still_open
SELECT * FROM gaps WHERE ended_at IS NULL ORDER BY started_at DESC LIMIT 1;

-- name: ended_between
SELECT * FROM gaps WHERE ended_at BETWEEN :first AND :last;

-- name: ended_since
SELECT ended_at FROM gaps WHERE ended_at >= :since ORDER BY ended_at;
