-- What is only on disk: dormant episodes and offloaded words. (The tables of sqlite-vec: db/vector_tables.py.)

-- name: insert
INSERT INTO deep_texts (kind, owner_id, experience_id, speaker, text, said_at, origin, tainted, checksum)
VALUES (:kind, :owner_id, :experience_id, :speaker, :text, :said_at, :origin, :tainted, :checksum)
ON CONFLICT (kind, owner_id) DO NOTHING;

-- name: ids_of
SELECT id FROM deep_texts WHERE kind = :kind AND owner_id IN (SELECT value FROM json_each(:owner_ids));

-- name: take_back
DELETE FROM deep_texts WHERE id = :id;

-- name: fall_dormant
UPDATE episodes SET dormant = 1 WHERE id = :episode_id AND dormant = 0;

-- name: wake
UPDATE episodes SET dormant = 0 WHERE id = :episode_id AND dormant = 1;

-- name: note
INSERT INTO dormancy_log (episode_id, happened_at, became, reason) VALUES (:episode_id, :at, :became, :reason);

-- name: passages
SELECT owner_id FROM deep_texts
WHERE kind = 'turn' AND experience_id IS NOT NULL AND owner_id > experience_id || '#' AND owner_id < experience_id || '$';

-- name: last_id
SELECT coalesce(max(id), 0) AS id FROM deep_texts;

-- name: tables
SELECT number, model_id, dimensions, is_whole FROM deep_vector_tables;

-- name: add_table
INSERT INTO deep_vector_tables (model_id, dimensions, is_whole) VALUES (:model_id, :dimensions, :is_whole)
RETURNING number;

-- name: table_is_whole
UPDATE deep_vector_tables SET is_whole = :is_whole WHERE number = :number;

-- name: drop_table
DELETE FROM deep_vector_tables WHERE number = :number;

-- name: vectors_of
SELECT deep_texts.id, vectors.vector
FROM deep_texts
JOIN vectors ON vectors.owner_kind = deep_texts.kind AND vectors.owner_id = deep_texts.owner_id
    AND vectors.model_id = :model_id
WHERE deep_texts.kind = :kind AND deep_texts.owner_id IN (SELECT value FROM json_each(:owner_ids));

-- name: vectors_after
SELECT deep_texts.id, vectors.vector
FROM deep_texts
LEFT JOIN vectors ON vectors.owner_kind = deep_texts.kind AND vectors.owner_id = deep_texts.owner_id
    AND vectors.model_id = :model_id
WHERE deep_texts.id > :after AND deep_texts.id <= :until
ORDER BY deep_texts.id
LIMIT :limit;

-- name: count_holding
SELECT count(*) AS texts FROM (SELECT 1 FROM deep_words WHERE deep_words MATCH :term LIMIT :limit);

-- name: by_words
SELECT rowid AS id FROM deep_words WHERE deep_words MATCH :terms ORDER BY rank LIMIT :limit;

-- name: dormant_in_time
SELECT DISTINCT episodes.id FROM deep_texts
LEFT JOIN episode_sources ON deep_texts.kind = 'turn' AND episode_sources.experience_id = deep_texts.experience_id
JOIN episodes ON episodes.id = coalesce(episode_sources.episode_id, deep_texts.owner_id) AND episodes.merged_into IS NULL
WHERE episodes.dormant = 1 AND deep_texts.said_at >= :start AND deep_texts.said_at < :end
ORDER BY deep_texts.said_at LIMIT :limit;

-- name: count_with_part
-- Text without spaces is one word to the word index: its parts are looked for in the texts.
SELECT count(*) AS texts FROM (SELECT 1 FROM deep_texts WHERE instr(text, :term) LIMIT :limit);

-- name: by_parts
SELECT deep_texts.id FROM json_each(:parts) JOIN deep_texts ON instr(deep_texts.text, json_each.value)
GROUP BY deep_texts.id ORDER BY count(*) DESC, deep_texts.id LIMIT :limit;

-- name: found
SELECT deep_texts.*, vectors.vector, episodes.id AS episode_id, episodes.summary, episodes.created_at, episodes.dormant
FROM deep_texts
LEFT JOIN episode_sources ON deep_texts.kind = 'turn' AND episode_sources.experience_id = deep_texts.experience_id
JOIN episodes ON episodes.id = coalesce(episode_sources.episode_id, deep_texts.owner_id) AND episodes.merged_into IS NULL
LEFT JOIN vectors ON vectors.owner_kind = deep_texts.kind AND vectors.owner_id = deep_texts.owner_id
    AND vectors.model_id = :model_id
WHERE deep_texts.id IN (SELECT value FROM json_each(:ids));

-- name: counts
SELECT
    (SELECT count(*) FROM episodes WHERE dormant = 1 AND merged_into IS NULL) AS episodes,
    (SELECT count(*) FROM deep_texts WHERE kind = 'turn') AS turns,
    (SELECT count(*) FROM deep_texts) AS texts;

-- name: episode
SELECT * FROM episodes WHERE id = :id AND merged_into IS NULL;

-- name: dormant_like
SELECT * FROM episodes
WHERE dormant = 1 AND merged_into IS NULL AND substr(id, 1, length(:prefix)) = :prefix
LIMIT 3;

-- name: only_on_disk
SELECT id FROM episodes
WHERE id IN (SELECT value FROM json_each(:ids)) AND merged_into IS NULL
    AND (dormant = 1 OR EXISTS (
        SELECT 1 FROM episode_sources JOIN deep_texts ON deep_texts.experience_id = episode_sources.experience_id
        WHERE episode_sources.episode_id = episodes.id
    ))
ORDER BY rowid;

-- name: sources_of
SELECT episode_sources.experience_id FROM episode_sources
JOIN raw_experiences ON raw_experiences.id = episode_sources.experience_id
WHERE episode_sources.episode_id = :id
ORDER BY raw_experiences.happened_at, raw_experiences.rowid;

-- name: links_of
SELECT from_id, to_id, type, strength FROM episode_links WHERE from_id = :id
UNION ALL
SELECT from_id, to_id, type, strength FROM episode_links WHERE to_id = :id;

-- name: merged_into
WITH RECURSIVE went (id, into_id) AS (
    SELECT id, merged_into FROM episodes WHERE id IN (SELECT value FROM json_each(:ids)) AND merged_into IS NOT NULL
    UNION
    SELECT went.id, episodes.merged_into FROM went JOIN episodes ON episodes.id = went.into_id
    WHERE episodes.merged_into IS NOT NULL
)
SELECT went.id, went.into_id FROM went JOIN episodes ON episodes.id = went.into_id WHERE episodes.merged_into IS NULL;

-- name: turns_of
SELECT deep_texts.owner_id FROM deep_texts
JOIN episode_sources ON episode_sources.experience_id = deep_texts.experience_id
WHERE deep_texts.kind = 'turn' AND episode_sources.episode_id = :episode_id
ORDER BY deep_texts.id;
