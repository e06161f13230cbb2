-- Past conversations that were imported, and who in them is the owner.

-- name: speakers
-- 'remembered' holds what the owner asked to remember, 'erased' what is left of erased imports.
SELECT conversations.source, turns.speaker, turns.origin, count(*) AS turns,
    min(turns.said_at) AS first_at, max(turns.said_at) AS last_at
FROM turns JOIN conversations ON conversations.id = turns.conversation_id
WHERE conversations.source NOT IN ('chat', 'erased', 'remembered')
GROUP BY conversations.source, turns.speaker, turns.origin
ORDER BY conversations.source, turns DESC, turns.speaker;

-- name: turns
SELECT turns.* FROM turns JOIN conversations ON conversations.id = turns.conversation_id
WHERE conversations.source = :source
ORDER BY turns.conversation_id, turns.position;

-- name: withdrawn
SELECT experience_id FROM withdrawn_experiences WHERE experience_id IN (SELECT value FROM json_each(:ids));

-- name: held
SELECT experience_id, held_at, why FROM held_experiences WHERE experience_id IN (SELECT value FROM json_each(:ids));
