-- name: find
SELECT content_hash, vector FROM embedding_cache
WHERE model_id = :model_id AND content_hash IN (SELECT value FROM json_each(:hashes));

-- name: put
INSERT INTO embedding_cache (content_hash, model_id, vector) VALUES (:content_hash, :model_id, :vector)
ON CONFLICT (content_hash, model_id) DO UPDATE SET vector = excluded.vector;

-- name: bound
DELETE FROM embedding_cache WHERE id <= (SELECT max(id) FROM embedding_cache) - :rows;
