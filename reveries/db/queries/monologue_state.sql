-- name: get
SELECT last_buffer, last_context, quiescent, updated_at FROM monologue_state WHERE id = 1;

-- name: put
INSERT INTO monologue_state (id, last_buffer, last_context, quiescent, updated_at)
VALUES (1, :last_buffer, :last_context, :quiescent, :updated_at)
ON CONFLICT (id) DO UPDATE SET last_buffer = excluded.last_buffer, last_context = excluded.last_context,
    quiescent = excluded.quiescent, updated_at = excluded.updated_at;

-- name: thoughts_since
SELECT id, began_at, ended_at, why_began, why_ended, text, tokens, recalled
FROM (SELECT * FROM monologue_log WHERE began_at >= :since ORDER BY began_at DESC LIMIT :limit)
ORDER BY began_at;

-- name: newest
SELECT (SELECT max(happened_at) FROM raw_experiences WHERE kind <> 'monologue') AS experience_at,
    -- What failed, or could not be paid for, has not thought about anything yet.
    (SELECT max(began_at) FROM monologue_log WHERE why_ended NOT IN ('failed', 'budget')) AS thought_at;
