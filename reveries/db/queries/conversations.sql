-- name: insert
INSERT INTO conversations (id, began_at, last_said_at, source, title) VALUES (:id, :began_at, :began_at, :source, :title);

-- name: latest_chat
SELECT * FROM conversations WHERE source = 'chat' ORDER BY last_said_at DESC, rowid DESC LIMIT 1;

-- name: latest_of
SELECT * FROM conversations
WHERE source = :source AND last_said_at BETWEEN :earliest AND :latest AND began_at <= :latest
ORDER BY last_said_at DESC, rowid DESC LIMIT 1;

-- name: spoken
UPDATE conversations SET last_said_at = max(last_said_at, :said_at), rested_at = NULL WHERE id = :id;

-- name: rest
UPDATE conversations SET rested_at = :rested_at WHERE id = :id;

-- name: fold
UPDATE conversations SET folded_summary = :summary, folded_until = :until WHERE id = :id;
