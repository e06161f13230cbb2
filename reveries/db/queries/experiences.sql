-- name: insert
INSERT INTO raw_experiences (
    id, kind, happened_at, content, salience, valence, light_slept, processed, conversation_id, metadata, origin, tainted,
    checksum
) VALUES (
    :id, :kind, :happened_at, :content, :salience, :valence, 0, 0, :conversation_id, :metadata, :origin, :tainted,
    :checksum
);

-- name: get
SELECT * FROM raw_experiences WHERE id = :id;

-- name: to_sleep_on
SELECT raw_experiences.id FROM raw_experiences
LEFT JOIN conversations ON conversations.id = raw_experiences.conversation_id
LEFT JOIN turns ON turns.experience_id = raw_experiences.id
WHERE raw_experiences.light_slept = 0
    AND raw_experiences.id NOT IN (SELECT experience_id FROM withdrawn_experiences)
GROUP BY raw_experiences.id
ORDER BY coalesce(conversations.began_at, raw_experiences.happened_at), conversations.rowid,
    min(turns.position), raw_experiences.happened_at, raw_experiences.rowid;

-- name: of_ids
SELECT * FROM raw_experiences WHERE id IN (SELECT value FROM json_each(:ids));

-- name: still_to_sleep_on
SELECT id FROM raw_experiences
WHERE id IN (SELECT value FROM json_each(:ids)) AND light_slept = 0
    AND id NOT IN (SELECT experience_id FROM withdrawn_experiences);

-- name: count_still_there
SELECT count(*) AS experiences FROM raw_experiences
WHERE id IN (SELECT value FROM json_each(:ids)) AND id NOT IN (SELECT experience_id FROM withdrawn_experiences);

-- name: mark_light_slept
UPDATE raw_experiences SET light_slept = 1 WHERE id = :id;

-- name: mark_processed
UPDATE raw_experiences
SET processed = 1, salience = :salience, valence = :valence, attempts = attempts + 1
WHERE id = :id;

-- name: count_attempt
UPDATE raw_experiences SET attempts = attempts + 1 WHERE id = :id;

-- name: next_to_process
SELECT * FROM raw_experiences
WHERE processed = 0 AND light_slept = 1 AND attempts < :max_attempts
    AND id NOT IN (SELECT experience_id FROM withdrawn_experiences)
    AND (:with_held OR id NOT IN (SELECT experience_id FROM held_experiences))
    AND id NOT IN (SELECT value FROM json_each(:passed_over))
    AND NOT EXISTS (
        SELECT 1 FROM episode_sources JOIN episodes ON episodes.id = episode_sources.episode_id
        WHERE episode_sources.experience_id = raw_experiences.id AND episodes.dormant = 1
    )
ORDER BY salience DESC, happened_at, rowid
LIMIT 1;

-- name: waiting_with
-- What waits together with one experience and was not asked about in vain, in order of time. Of a conversation: what waits
-- of it, and the thoughts within :near_seconds of that. Of thoughts: the same, if a conversation waits so near to the
-- first one, else all that wait, because one request costs less than one for each. Of anything else: its kind and day.
WITH waiting AS MATERIALIZED (
    SELECT raw_experiences.rowid AS place, id, kind, happened_at, conversation_id FROM raw_experiences
    WHERE processed = 0 AND light_slept = 1 AND attempts = 0
        AND id NOT IN (SELECT experience_id FROM withdrawn_experiences)
        AND (:with_held OR id NOT IN (SELECT experience_id FROM held_experiences))
        AND id NOT IN (SELECT value FROM json_each(:passed_over))
        AND NOT EXISTS (
            SELECT 1 FROM episode_sources JOIN episodes ON episodes.id = episode_sources.episode_id
            WHERE episode_sources.experience_id = raw_experiences.id AND episodes.dormant = 1
        )
), first AS MATERIALIZED (
    SELECT kind, happened_at, conversation_id FROM raw_experiences WHERE id = :id
), anchor AS MATERIALIZED (
    SELECT conversation_id FROM (
        SELECT conversation_id, 0.0 AS seconds, 0 AS place FROM first
        UNION ALL
        SELECT waiting.conversation_id, abs(waiting.happened_at - first.happened_at), waiting.place FROM first JOIN waiting
        WHERE first.kind = 'monologue' AND abs(waiting.happened_at - first.happened_at) <= :near_seconds
    ) WHERE conversation_id IS NOT NULL ORDER BY seconds, place LIMIT 1
), talk AS MATERIALIZED (
    SELECT min(happened_at) - :near_seconds AS since, max(happened_at) + :near_seconds AS until
    FROM waiting WHERE conversation_id = (SELECT conversation_id FROM anchor)
)
SELECT waiting.id FROM waiting JOIN first JOIN talk
WHERE CASE
    WHEN waiting.conversation_id IS NOT NULL THEN waiting.conversation_id = (SELECT conversation_id FROM anchor)
    WHEN (SELECT conversation_id FROM anchor) IS NOT NULL
        THEN waiting.kind = 'monologue' AND waiting.happened_at BETWEEN talk.since AND talk.until
    ELSE waiting.kind = first.kind AND (first.kind = 'monologue' OR
        date(waiting.happened_at, 'unixepoch', 'localtime') = date(first.happened_at, 'unixepoch', 'localtime'))
END
ORDER BY waiting.happened_at, waiting.place;

-- name: count_unprocessed
SELECT count(*) AS unprocessed FROM (
    SELECT 1 FROM raw_experiences WHERE processed = 0 AND attempts < :max_attempts
        AND id NOT IN (SELECT experience_id FROM withdrawn_experiences)
        AND (:with_held OR id NOT IN (SELECT experience_id FROM held_experiences))
        AND NOT EXISTS (
            SELECT 1 FROM episode_sources JOIN episodes ON episodes.id = episode_sources.episode_id
            WHERE episode_sources.experience_id = raw_experiences.id AND episodes.dormant = 1
        )
    LIMIT :most
);

-- name: anything_but_fresh_thoughts
-- Whether anything but fresh thoughts waits for deep sleep: those cost less when they are read with the next conversation.
SELECT EXISTS (
    SELECT 1 FROM raw_experiences WHERE processed = 0 AND attempts < :max_attempts
        AND (kind <> 'monologue' OR happened_at < :thoughts_before)
        AND id NOT IN (SELECT experience_id FROM withdrawn_experiences)
        AND id NOT IN (SELECT experience_id FROM held_experiences)
        AND NOT EXISTS (
            SELECT 1 FROM episode_sources JOIN episodes ON episodes.id = episode_sources.episode_id
            WHERE episode_sources.experience_id = raw_experiences.id AND episodes.dormant = 1
        )
) AS is_waiting;

-- name: live_passages
SELECT raw_experiences.*, episode_sources.episode_id
FROM raw_experiences
JOIN episode_sources ON episode_sources.experience_id = raw_experiences.id
JOIN episodes ON episodes.id = episode_sources.episode_id
WHERE episodes.merged_into IS NULL AND episodes.dormant = 0
    AND NOT EXISTS (SELECT 1 FROM turns WHERE turns.experience_id = raw_experiences.id)
ORDER BY raw_experiences.rowid;

-- name: past_retention
SELECT raw_experiences.id
FROM raw_experiences
JOIN (
    SELECT experience_id AS id, run_id FROM consolidation_changes WHERE experience_id IS NOT NULL
    UNION ALL
    SELECT together.value, run_id FROM consolidation_changes, json_each(change_set, '$.processed_ids') AS together
    WHERE experience_id IS NOT NULL
) AS slept_on ON slept_on.id = raw_experiences.id
JOIN consolidation_runs ON consolidation_runs.id = slept_on.run_id
WHERE raw_experiences.processed = 1 AND raw_experiences.salience < :keep_salience
GROUP BY raw_experiences.id
HAVING max(coalesce(consolidation_runs.ended_at, consolidation_runs.began_at)) <= :slept_on_before;

-- name: log_thought
INSERT INTO monologue_log (
    id, began_at, ended_at, why_began, why_ended, text, tokens, recalled, experience_id, model, checksum,
    explanation, occasion, calls, prompt_tokens, completion_tokens, microdollars, tainted
) VALUES (
    :id, :began_at, :ended_at, :why_began, :why_ended, :text, :tokens, :recalled, :experience_id, :model, :checksum,
    :explanation, :occasion, :calls, :prompt_tokens, :completion_tokens, :microdollars, :tainted
);

-- name: standing
SELECT id, salience, valence, light_slept, processed, attempts FROM raw_experiences
WHERE id IN (SELECT value FROM json_each(:ids))
ORDER BY id;

-- name: put_back
UPDATE raw_experiences
SET salience = :salience, valence = :valence, light_slept = :light_slept, processed = :processed, attempts = :attempts
WHERE id = :experience_id;

-- name: hold
INSERT INTO held_experiences (experience_id, held_at, why) VALUES (:experience_id, :held_at, :why)
ON CONFLICT (experience_id) DO UPDATE SET held_at = excluded.held_at, why = excluded.why;
