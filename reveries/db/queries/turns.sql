-- name: insert
INSERT INTO turns (
    id, conversation_id, experience_id, position, origin, tainted, speaker, text, said_at, is_partial, import_key, checksum,
    echoes
) VALUES (
    :id, :conversation_id, :experience_id, :position, :origin, :tainted, :speaker, :text, :said_at, :is_partial,
    :import_key, :checksum, :echoes
);

-- name: adopt
UPDATE turns SET experience_id = :experience_id WHERE id = :id AND experience_id IS NULL;

-- name: next_position
SELECT coalesce(max(position) + 1, 0) AS position FROM turns WHERE conversation_id = :conversation_id;

-- name: recent
SELECT * FROM (
    SELECT * FROM turns WHERE conversation_id = :conversation_id ORDER BY position DESC LIMIT :limit
) ORDER BY position;

-- name: recent_for_prompt
-- Without the turns of experiences that the owner archived.
SELECT * FROM (
    SELECT * FROM turns WHERE conversation_id = :conversation_id
        AND (experience_id IS NULL OR experience_id NOT IN (SELECT experience_id FROM withdrawn_experiences))
    ORDER BY position DESC LIMIT :limit
) ORDER BY position;

-- name: count_in
SELECT count(*) AS turns FROM turns WHERE conversation_id = :conversation_id;

-- name: unanswered
SELECT turns.* FROM turns JOIN conversations ON conversations.id = turns.conversation_id
WHERE turns.experience_id IS NULL AND conversations.source = 'chat'
ORDER BY turns.conversation_id, turns.position;

-- name: conversations_of_orphans
SELECT id AS conversation_id FROM conversations
WHERE source <> 'chat' AND id IN (SELECT conversation_id FROM turns WHERE experience_id IS NULL)
ORDER BY began_at, rowid;

-- name: orphans_of
SELECT * FROM turns
WHERE conversation_id = :conversation_id AND position > :after AND experience_id IS NULL
ORDER BY position LIMIT :most;

-- name: has_import_key
SELECT 1 AS found FROM turns WHERE import_key IN (:import_key, :old_key);

-- name: any_tainted
SELECT 1 AS found FROM turns WHERE conversation_id = :conversation_id AND tainted = 1 LIMIT 1;

-- name: of_experience
SELECT * FROM turns WHERE experience_id = :experience_id ORDER BY conversation_id, position;

-- name: of_experiences
SELECT * FROM turns
WHERE experience_id IN (SELECT value FROM json_each(:ids))
ORDER BY conversation_id, position;

-- name: live
SELECT turns.*, episode_sources.episode_id
FROM turns
JOIN episode_sources ON episode_sources.experience_id = turns.experience_id
JOIN episodes ON episodes.id = episode_sources.episode_id
WHERE episodes.merged_into IS NULL AND episodes.dormant = 0 AND turns.echoes <> '"all"'
    AND turns.id NOT IN (SELECT owner_id FROM deep_texts WHERE kind = 'turn')
ORDER BY turns.rowid;

-- name: before
SELECT * FROM (
    SELECT * FROM turns WHERE conversation_id = :conversation_id AND position < :before ORDER BY position DESC LIMIT :limit
) ORDER BY position;

-- name: owner_words
SELECT turns.text, max(turns.said_at) AS last_said_at
FROM turns JOIN conversations ON conversations.id = turns.conversation_id
WHERE conversations.source = 'chat' AND turns.origin = 'owner' AND (:words = '' OR instr(lower(turns.text), :words))
    AND length(turns.text) <= :longest_chars
GROUP BY turns.text ORDER BY last_said_at DESC, max(turns.rowid) DESC LIMIT :limit;

-- name: last_exchange
SELECT turns.*, raw_experiences.light_slept FROM turns
JOIN raw_experiences ON raw_experiences.id = turns.experience_id
WHERE turns.conversation_id = :conversation_id AND turns.experience_id = (
    SELECT experience_id FROM turns WHERE conversation_id = :conversation_id ORDER BY position DESC LIMIT 1
)
ORDER BY turns.position;
