-- name: models
SELECT model_id, count(*) AS vectors FROM vectors GROUP BY model_id;

-- name: dimensions
SELECT length(vector) / 4 AS dimensions FROM vectors WHERE model_id = :model_id LIMIT 1;

-- name: serving
SELECT model_id FROM embedding_space WHERE id = 1;

-- name: serve
INSERT INTO embedding_space (id, model_id, since) VALUES (1, :model_id, :since)
ON CONFLICT (id) DO UPDATE SET model_id = excluded.model_id, since = excluded.since;

-- name: drop_episode
DELETE FROM vectors WHERE owner_kind = 'episode' AND owner_id = :owner_id;

-- name: drop_of_others
DELETE FROM vectors WHERE owner_kind = 'episode' AND owner_id = :owner_id AND model_id <> :model_id;

-- name: drop_some
DELETE FROM vectors
WHERE (owner_kind, owner_id, model_id) IN (
    SELECT owner_kind, owner_id, model_id FROM vectors WHERE model_id = :model_id LIMIT :limit
);

-- name: of_owners
SELECT owner_id, vector FROM vectors
WHERE owner_kind = :owner_kind AND model_id = :model_id AND owner_id IN (SELECT value FROM json_each(:owner_ids));

-- name: known
SELECT owner_id FROM vectors
WHERE owner_kind = :owner_kind AND model_id = :model_id AND owner_id IN (SELECT value FROM json_each(:owner_ids));

-- name: turns_there
-- The id of a passage is that of its experience, '#', and a number.
SELECT asked.value AS id FROM json_each(:ids) AS asked
WHERE EXISTS (SELECT 1 FROM turns WHERE turns.id = asked.value)
    OR EXISTS (
        SELECT 1 FROM raw_experiences
        WHERE raw_experiences.id = substr(asked.value, 1, instr(asked.value, '#') - 1)
    );

-- name: episode_there
SELECT summary, depth FROM episodes WHERE id = :id AND merged_into IS NULL;

-- name: turns_without
SELECT turns.*, turns.rowid AS place
FROM turns
WHERE turns.rowid > :after AND turns.echoes <> '"all"'
    AND EXISTS (
        SELECT 1 FROM episode_sources JOIN episodes ON episodes.id = episode_sources.episode_id
        WHERE episode_sources.experience_id = turns.experience_id AND episodes.merged_into IS NULL
    )
    AND NOT EXISTS (
        SELECT 1 FROM vectors WHERE owner_kind = 'turn' AND owner_id = turns.id AND model_id = :model_id
    )
ORDER BY turns.rowid
LIMIT :limit;

-- name: wordless_experiences
SELECT raw_experiences.*, raw_experiences.rowid AS place
FROM raw_experiences
WHERE raw_experiences.rowid > :after
    AND NOT EXISTS (SELECT 1 FROM turns WHERE turns.experience_id = raw_experiences.id)
    AND EXISTS (
        SELECT 1 FROM episode_sources JOIN episodes ON episodes.id = episode_sources.episode_id
        WHERE episode_sources.experience_id = raw_experiences.id AND episodes.merged_into IS NULL
    )
ORDER BY raw_experiences.rowid
LIMIT :limit;

-- name: episodes_without
SELECT episodes.id, episodes.rowid AS place FROM episodes
WHERE merged_into IS NULL AND episodes.rowid > :after
    AND NOT EXISTS (
        SELECT 1 FROM vectors WHERE owner_kind = 'episode' AND owner_id = episodes.id AND model_id = :model_id
    )
ORDER BY episodes.rowid
LIMIT :limit;

-- name: count_turns
SELECT count(*) AS total, count(vectors.owner_id) AS done
FROM turns
LEFT JOIN vectors
    ON vectors.owner_kind = 'turn' AND vectors.owner_id = turns.id AND vectors.model_id = :model_id
WHERE turns.echoes <> '"all"' AND EXISTS (
    SELECT 1 FROM episode_sources JOIN episodes ON episodes.id = episode_sources.episode_id
    WHERE episode_sources.experience_id = turns.experience_id AND episodes.merged_into IS NULL
);

-- name: count_episodes
SELECT count(*) AS total, count(vectors.owner_id) AS done
FROM episodes
LEFT JOIN vectors
    ON vectors.owner_kind = 'episode' AND vectors.owner_id = episodes.id AND vectors.model_id = :model_id
WHERE episodes.merged_into IS NULL;
