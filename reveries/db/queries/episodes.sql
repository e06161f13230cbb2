-- name: put
INSERT INTO episodes (
    id, created_at, ended_at, last_accessed_at, access_count, summary, exemplars, temporal_before, temporal_after, gap,
    salience, confidence, accessibility, valence, topics, entities, last_decayed_at, conversation_id, depth, merged_into,
    origin, tainted, checksum
) VALUES (
    :id, :created_at, :ended_at, :last_accessed_at, :access_count, :summary, :exemplars, :temporal_before,
    :temporal_after, :gap, :salience, :confidence, :accessibility, :valence, :topics, :entities, :last_decayed_at,
    :conversation_id, :depth, :merged_into, :origin, :tainted, :checksum
) ON CONFLICT (id) DO UPDATE SET
    created_at = excluded.created_at, ended_at = excluded.ended_at, last_accessed_at = excluded.last_accessed_at,
    access_count = excluded.access_count, summary = excluded.summary, exemplars = excluded.exemplars,
    temporal_before = excluded.temporal_before, temporal_after = excluded.temporal_after, gap = excluded.gap,
    salience = excluded.salience, confidence = excluded.confidence, accessibility = excluded.accessibility,
    valence = excluded.valence, topics = excluded.topics, entities = excluded.entities,
    last_decayed_at = excluded.last_decayed_at, depth = excluded.depth, merged_into = excluded.merged_into,
    tainted = max(episodes.tainted, excluded.tainted), checksum = excluded.checksum;

-- name: put_source
INSERT INTO episode_sources (episode_id, experience_id) VALUES (:episode_id, :experience_id) ON CONFLICT DO NOTHING;

-- name: touch
UPDATE episodes
SET access_count = :access_count, last_accessed_at = :last_accessed_at, salience = :salience,
    accessibility = :accessibility
WHERE id = :episode_id;

-- name: fade
UPDATE episodes SET salience = :salience, accessibility = :accessibility, last_decayed_at = :last_decayed_at
WHERE id = :episode_id;

-- name: retire
UPDATE episodes SET merged_into = :merged_into WHERE id = :episode_id;

-- name: put_link
INSERT INTO episode_links (from_id, to_id, type, strength) VALUES (:from_id, :to_id, :type, :strength)
ON CONFLICT (from_id, to_id, type) DO UPDATE SET strength = excluded.strength;

-- name: put_vector
INSERT INTO vectors (owner_kind, owner_id, model_id, vector) VALUES (:owner_kind, :owner_id, :model_id, :vector)
ON CONFLICT (owner_kind, owner_id, model_id) DO UPDATE SET vector = excluded.vector;

-- name: live
SELECT * FROM episodes WHERE merged_into IS NULL AND dormant = 0 ORDER BY rowid;

-- name: live_sources
SELECT episode_sources.episode_id, episode_sources.experience_id
FROM episode_sources
JOIN episodes ON episodes.id = episode_sources.episode_id
JOIN raw_experiences ON raw_experiences.id = episode_sources.experience_id
WHERE episodes.merged_into IS NULL AND episodes.dormant = 0
ORDER BY raw_experiences.happened_at, raw_experiences.rowid;

-- name: live_vectors
SELECT owner_id, vector FROM vectors
WHERE owner_kind = :owner_kind AND model_id = :model_id
    AND owner_id NOT IN (SELECT owner_id FROM deep_texts WHERE kind = :owner_kind);

-- name: packed_links
SELECT from_id, group_concat(to_id, char(31)) AS targets, group_concat(strength, ' ') AS strengths,
    group_concat(CASE type WHEN 'causal' THEN 0 WHEN 'thematic' THEN 1 WHEN 'temporal' THEN 2 ELSE 3 END, '') AS types
FROM episode_links
GROUP BY from_id;

-- name: links_around
SELECT from_id, to_id, type, strength FROM episode_links
WHERE from_id IN (SELECT value FROM json_each(:ids)) OR to_id IN (SELECT value FROM json_each(:ids));

-- name: one
SELECT * FROM episodes WHERE id = :id;

-- name: merged_like
WITH RECURSIVE way (id, home) AS (
    SELECT id, merged_into FROM episodes
    WHERE merged_into IS NOT NULL AND substr(id, 1, length(:prefix)) = :prefix
    UNION
    SELECT way.id, episodes.merged_into FROM way JOIN episodes ON episodes.id = way.home
    WHERE episodes.merged_into IS NOT NULL
)
SELECT way.id, way.home FROM way JOIN episodes ON episodes.id = way.home
WHERE episodes.merged_into IS NULL
LIMIT 3;

-- name: home_of
SELECT episodes.id FROM episode_sources JOIN episodes ON episodes.id = episode_sources.episode_id
WHERE episode_sources.experience_id = :experience_id AND episodes.merged_into IS NULL AND episodes.dormant = 0
ORDER BY episodes.rowid DESC
LIMIT 1;

-- name: summaries
SELECT id, summary FROM episodes WHERE id IN (SELECT value FROM json_each(:ids));
