-- name: insert
INSERT INTO conversations (id, began_at, last_said_at, source, title) VALUES (:id, :began_at, :began_at, :source, :title);

-- name: begin
INSERT INTO conversations (id, began_at, last_said_at, source, channel)
VALUES (:id, :began_at, :began_at, 'chat', :channel);

-- name: latest_chat
SELECT * FROM conversations WHERE source = 'chat' ORDER BY last_said_at DESC, rowid DESC LIMIT 1;

-- name: latest_of_channel
SELECT * FROM conversations WHERE source = 'chat' AND channel = :channel ORDER BY last_said_at DESC, rowid DESC LIMIT 1;

-- name: chats_before
SELECT id FROM conversations
WHERE source = 'chat' AND last_said_at <= (SELECT began_at FROM conversations WHERE id = :conversation_id)
    AND id <> :conversation_id
    AND channel = (SELECT channel FROM conversations WHERE id = :conversation_id)
ORDER BY last_said_at DESC, rowid DESC LIMIT :chats;

-- name: get
SELECT * FROM conversations WHERE id = :id;

-- name: latest_of
SELECT * FROM conversations
WHERE source = :source AND title = :title AND last_said_at BETWEEN :earliest AND :latest AND began_at <= :latest
ORDER BY last_said_at DESC, rowid DESC LIMIT 1;

-- name: spoken
UPDATE conversations SET last_said_at = max(last_said_at, :said_at), rested_at = NULL WHERE id = :id;

-- name: rest
UPDATE conversations SET rested_at = :rested_at WHERE id = :id;

-- name: fold
UPDATE conversations SET folded_summary = :summary, folded_until = :until WHERE id = :id;

-- name: past
SELECT conversations.*, first.text AS opening, said.turns, substr(
    found.text, max(1, instr(lower(found.text), :words) - :before_chars), :found_chars
) AS found
FROM conversations
JOIN (SELECT conversation_id, count(*) AS turns FROM turns GROUP BY conversation_id) AS said
    ON said.conversation_id = conversations.id
LEFT JOIN turns AS first ON first.id = (
    SELECT id FROM turns WHERE conversation_id = conversations.id ORDER BY origin <> 'owner', position LIMIT 1
)
LEFT JOIN turns AS found ON :words <> '' AND found.id = (
    SELECT id FROM turns WHERE conversation_id = conversations.id AND instr(lower(text), :words)
    ORDER BY position DESC LIMIT 1
)
WHERE :words = '' OR found.id IS NOT NULL
ORDER BY conversations.last_said_at DESC, conversations.rowid DESC LIMIT :limit;

-- name: beginning_with
SELECT * FROM conversations WHERE substr(id, 1, length(:prefix)) = :prefix LIMIT 2;
