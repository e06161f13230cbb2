-- The rows that changed since a snapshot, with their current values. (Triggers in schema.sql record the changes.)

-- name: marks
SELECT epoch, mark FROM snapshot_marks;

-- name: begin
INSERT INTO snapshot_marks (epoch, mark)
SELECT max(
    coalesce((SELECT max(epoch) FROM snapshot_marks), 0), coalesce((SELECT max(epoch) FROM changed_rows), 0)
) + 1, :mark;

-- name: drop
DELETE FROM snapshot_marks WHERE mark = :mark;

-- name: prune
DELETE FROM changed_rows WHERE epoch < (SELECT epoch FROM snapshot_marks WHERE mark = :mark);

-- name: prune_marks
DELETE FROM snapshot_marks WHERE epoch < (SELECT epoch FROM snapshot_marks WHERE mark = :mark);

-- name: note_turn
INSERT INTO noted (kind, id) VALUES ('turn', :id);

-- name: since
SELECT kind, id FROM changed_rows WHERE epoch >= :epoch;

-- name: is_current
-- Turns that were recorded again together with the mark did not change.
SELECT 1 AS found FROM snapshot_marks
WHERE mark = :mark AND NOT EXISTS (
    SELECT 1 FROM changed_rows
    WHERE changed_rows.epoch >= snapshot_marks.epoch
        AND NOT (kind = 'turn' AND id IN (SELECT value FROM json_each(:renoted)))
);

-- name: experiences_of_turns
SELECT DISTINCT experience_id FROM turns
WHERE id IN (SELECT value FROM json_each(:ids)) AND experience_id IS NOT NULL;

-- name: homes
SELECT DISTINCT episode_id FROM episode_sources WHERE experience_id IN (SELECT value FROM json_each(:ids));

-- name: episodes
SELECT * FROM episodes
WHERE id IN (SELECT value FROM json_each(:ids)) AND merged_into IS NULL AND dormant = 0
ORDER BY rowid;

-- name: sources
SELECT episode_sources.episode_id, episode_sources.experience_id
FROM episode_sources
JOIN raw_experiences ON raw_experiences.id = episode_sources.experience_id
WHERE episode_sources.episode_id IN (SELECT value FROM json_each(:ids))
ORDER BY raw_experiences.happened_at, raw_experiences.rowid;

-- name: standings
SELECT id, access_count, last_accessed_at, salience, accessibility, last_decayed_at FROM episodes
WHERE id IN (SELECT value FROM json_each(:ids));

-- name: links_from
SELECT from_id, to_id, type, strength FROM episode_links WHERE from_id IN (SELECT value FROM json_each(:ids));

-- name: turns
SELECT turns.*, episode_sources.episode_id
FROM turns
JOIN episode_sources ON episode_sources.experience_id = turns.experience_id
JOIN episodes ON episodes.id = episode_sources.episode_id
WHERE turns.experience_id IN (SELECT value FROM json_each(:ids))
    AND episodes.merged_into IS NULL AND episodes.dormant = 0 AND turns.echoes <> '"all"'
    AND NOT EXISTS (SELECT 1 FROM deep_texts WHERE kind = 'turn' AND owner_id = turns.id)
ORDER BY turns.rowid;

-- name: passages
SELECT raw_experiences.*, episode_sources.episode_id
FROM raw_experiences
JOIN episode_sources ON episode_sources.experience_id = raw_experiences.id
JOIN episodes ON episodes.id = episode_sources.episode_id
WHERE raw_experiences.id IN (SELECT value FROM json_each(:ids))
    AND episodes.merged_into IS NULL AND episodes.dormant = 0
    AND NOT EXISTS (SELECT 1 FROM turns WHERE turns.experience_id = raw_experiences.id)
ORDER BY raw_experiences.rowid;

-- name: passages_away
SELECT owner_id FROM deep_texts
WHERE kind = 'turn' AND experience_id IN (SELECT value FROM json_each(:ids))
    AND owner_id > experience_id || '#' AND owner_id < experience_id || '$';
