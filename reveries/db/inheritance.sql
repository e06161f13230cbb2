-- What a row is made of is tainted: so it is, too. For what comes in past the doors (schema.sql, "the doors"): it runs at
-- each import of a whole mind, on today's schema, and changes with it. (migrations/0007.sql said the same once, and stays
-- as it ran.) Notes of thoughts that get their taint here stay in the list; none is told by itself (queries/notes.sql).
UPDATE turns SET tainted = 1 WHERE tainted = 0 AND origin IN ('tool', 'document', 'channel');
UPDATE raw_experiences SET tainted = 1
WHERE tainted = 0 AND (
    origin IN ('tool', 'document', 'channel')
    OR EXISTS (SELECT 1 FROM turns WHERE experience_id = raw_experiences.id AND turns.tainted = 1)
    OR id IN (SELECT experience_id FROM monologue_log WHERE monologue_log.tainted = 1 AND experience_id IS NOT NULL)
);
UPDATE monologue_log SET tainted = 1
WHERE tainted = 0 AND (SELECT tainted FROM raw_experiences WHERE id = monologue_log.experience_id) = 1;
UPDATE episodes SET tainted = 1
WHERE tainted = 0 AND (
    origin IN ('tool', 'document', 'channel')
    OR EXISTS (
        SELECT 1 FROM episode_sources JOIN raw_experiences ON raw_experiences.id = episode_sources.experience_id
        WHERE episode_sources.episode_id = episodes.id AND raw_experiences.tainted = 1
    )
);
UPDATE episodes SET tainted = 1
WHERE tainted = 0 AND id IN (
    WITH RECURSIVE home (id) AS (
        SELECT merged_into FROM episodes WHERE tainted = 1 AND merged_into IS NOT NULL
        UNION
        SELECT merged_into FROM home JOIN episodes ON episodes.id = home.id WHERE merged_into IS NOT NULL
    )
    SELECT id FROM home
);
UPDATE claims SET tainted = 1
WHERE tainted = 0 AND coalesce(
    (SELECT tainted FROM turns WHERE id = claims.turn_id),
    (SELECT tainted FROM raw_experiences WHERE id = claims.experience_id)
) = 1;
UPDATE deep_texts SET tainted = 1
WHERE tainted = 0 AND CASE kind
    WHEN 'episode' THEN (SELECT tainted FROM episodes WHERE id = deep_texts.owner_id)
    ELSE coalesce(
        (SELECT tainted FROM turns WHERE id = deep_texts.owner_id),
        (SELECT tainted FROM raw_experiences WHERE id = deep_texts.experience_id)
    )
END = 1;
