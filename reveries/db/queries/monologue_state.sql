-- name: get
SELECT last_buffer, last_context, quiescent, updated_at FROM monologue_state WHERE id = 1;

-- name: put
INSERT INTO monologue_state (id, last_buffer, last_context, quiescent, updated_at)
VALUES (1, :last_buffer, :last_context, :quiescent, :updated_at)
ON CONFLICT (id) DO UPDATE SET last_buffer = excluded.last_buffer, last_context = excluded.last_context,
    quiescent = excluded.quiescent, updated_at = excluded.updated_at;

-- name: thoughts_since
SELECT log.*, marks.pinned_at, marks.dropped_at
FROM (SELECT * FROM monologue_log WHERE began_at >= :since ORDER BY began_at DESC LIMIT :limit) AS log
LEFT JOIN thought_marks AS marks ON marks.thought_id = log.id
ORDER BY log.began_at;

-- name: thoughts_named
SELECT id, text, experience_id FROM monologue_log WHERE substr(id, 1, length(:prefix)) = :prefix LIMIT 2;

-- name: marks_of
SELECT pinned_at, dropped_at FROM thought_marks WHERE thought_id = :thought_id;

-- name: pin
INSERT INTO thought_marks (thought_id, pinned_at) VALUES (:thought_id, :now)
ON CONFLICT (thought_id) DO UPDATE SET pinned_at = excluded.pinned_at;

-- name: drop
INSERT INTO thought_marks (thought_id, dropped_at) VALUES (:thought_id, :now)
ON CONFLICT (thought_id) DO UPDATE SET dropped_at = excluded.dropped_at, pinned_at = NULL;

-- name: withdraw
INSERT INTO withdrawn_experiences (experience_id, withdrawn_at) VALUES (:experience_id, :now)
ON CONFLICT (experience_id) DO NOTHING;

-- name: made_of
SELECT raw_experiences.processed, episode_sources.episode_id
FROM raw_experiences LEFT JOIN episode_sources ON episode_sources.experience_id = raw_experiences.id
WHERE raw_experiences.id = :experience_id;

-- name: asleep_in
SELECT episodes.id FROM episode_sources JOIN episodes ON episodes.id = episode_sources.episode_id
WHERE episode_sources.experience_id = :experience_id AND episodes.merged_into IS NULL AND episodes.dormant = 1;

-- name: forget_buffer
UPDATE monologue_state SET last_buffer = '', quiescent = 1
WHERE json_extract(last_context, '$.thought_id') = :thought_id
    OR last_buffer = (SELECT text FROM monologue_log WHERE id = :thought_id);

-- name: weigh
UPDATE raw_experiences SET salience = 1.0 WHERE id = :experience_id;

-- name: paused_at
SELECT paused_at FROM monologue_control WHERE id = 1;

-- name: put_paused
INSERT INTO monologue_control (id, paused_at) VALUES (1, :paused_at)
ON CONFLICT (id) DO UPDATE SET paused_at = excluded.paused_at;

-- name: put_asked
INSERT INTO asked_thoughts (reason, about, asked_at) VALUES (:reason, :about, :now);

-- name: asked
SELECT reason, about FROM asked_thoughts ORDER BY id;

-- name: asked_done
DELETE FROM asked_thoughts
WHERE id = (SELECT min(id) FROM asked_thoughts WHERE reason = :reason AND about = :about);

-- name: forget_asked
DELETE FROM asked_thoughts;

-- name: forget_old_asked
DELETE FROM asked_thoughts WHERE asked_at <= :before;

-- name: associations_since
SELECT count(*) AS associations FROM monologue_log WHERE why_began = 'association' AND began_at > :since AND began_at <= :now;

-- name: surfaced_since
SELECT episode_id, surfaced_at FROM surfaced_memories WHERE surfaced_at BETWEEN :since AND :now;

-- name: put_surfaced
INSERT INTO surfaced_memories (episode_id, surfaced_at) VALUES (:episode_id, :surfaced_at)
ON CONFLICT (episode_id) DO UPDATE SET surfaced_at = excluded.surfaced_at;

-- name: forget_surfaced
DELETE FROM surfaced_memories WHERE surfaced_at < :before;

-- name: told_events
SELECT event_key FROM calendar_told WHERE told_at >= :since;

-- name: count_told_events
SELECT count(*) AS told FROM calendar_told WHERE told_at > :since AND told_at <= :now;

-- name: put_told_event
INSERT INTO calendar_told (event_key, told_at) VALUES (:event_key, :told_at)
ON CONFLICT (event_key) DO UPDATE SET told_at = excluded.told_at;

-- name: forget_told_events
DELETE FROM calendar_told WHERE told_at < :before;

-- name: newest
-- Ambient inputs are not news. Rows dated in the future by a wrong clock are ignored, or they would count for years.
SELECT
    (SELECT max(happened_at) FROM raw_experiences
        WHERE kind <> 'monologue' AND origin <> 'system' AND happened_at <= :now) AS experience_at,
    -- A thought that failed, exceeded the budget or has no text has not processed anything yet, and one with another
    -- reason than what happened has not looked at it.
    (SELECT max(began_at) FROM monologue_log
        WHERE began_at <= :now AND why_ended NOT IN ('failed', 'budget') AND text <> ''
            AND why_began NOT IN ('nudge', 'calendar', 'association')) AS thought_at;

-- name: thoughts_about_talk
-- The salience of the exchanges in the last stretch of talk, and how many thoughts began since it ended. A stretch begins
-- after the last thought before its last exchange. Thoughts that were requested or had another reason do not count,
-- those without text do, so that it is not tried for ever.
WITH exchanges AS (
    SELECT happened_at, salience FROM raw_experiences
    WHERE kind = 'conversation' AND happened_at BETWEEN :since AND :now
),
thoughts AS (
    SELECT began_at FROM monologue_log
    WHERE began_at BETWEEN :since AND :now AND why_ended NOT IN ('failed', 'budget')
        AND why_began NOT IN ('nudge', 'calendar', 'association')
),
talk AS (SELECT max(happened_at) AS ended_at FROM exchanges),
stretch AS (
    SELECT talk.ended_at, coalesce(max(thoughts.began_at), :since) AS began_at
    FROM talk LEFT JOIN thoughts ON thoughts.began_at < talk.ended_at
)
SELECT
    (SELECT coalesce(sum(salience), 0.0) FROM exchanges, stretch WHERE happened_at > stretch.began_at) AS salience,
    (SELECT count(*) FROM thoughts, stretch WHERE thoughts.began_at >= stretch.ended_at) AS thoughts;
