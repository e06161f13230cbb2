-- From schema 6 to 7.

-- What earlier code may have written without the taint of what it is made of gets it. As these statements are they ran on
-- minds that live, and stay: what comes in later by an import gets its taint by db/inheritance.sql, which began as a copy
-- and follows the schema. A note to the owner has no taint of its own: one of a thought that gets its taint here stays in
-- the list, and if nobody was shown it yet, it is not told by itself any more (queries/notes.sql).
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
-- the doors (F3):
-- What is written is looked at where it comes in, too, whatever wrote it. A word of the owner comes alone: as it is said
-- in the chat, or by the key of its line in an import; never as a part of an exchange, for that is how replies come. And
-- what is made of tainted text is tainted, wherever a row names what it was made of and that stays as it was. (What was
-- before a model's eyes no row names but `recalled`, and an episode may have been tainted since; the self-model names
-- episodes, and is made of the owner's words in them alone.) A mind that is imported whole comes in without these:
-- db/mind_file.py sees to its taints. One for each table, for each costs its while.
CREATE TRIGGER turns_guarded BEFORE INSERT ON turns
BEGIN
    SELECT CASE
        WHEN new.origin = 'owner' AND (
            new.experience_id IS NOT NULL OR new.is_partial = 1
            OR (new.import_key IS NULL) <> (SELECT source = 'chat' FROM conversations WHERE id = new.conversation_id)
        ) THEN raise(ABORT, 'nobody else speaks in the name of the owner')
        WHEN new.tainted = 0 AND new.origin IN ('tool', 'document', 'channel')
        THEN raise(ABORT, 'what others wrote is tainted')
        WHEN new.tainted = 1 AND (SELECT tainted FROM raw_experiences WHERE id = new.experience_id) = 0
        THEN raise(ABORT, 'what is made of tainted text is tainted')
    END;
END;
CREATE TRIGGER turns_adoption_guarded BEFORE UPDATE OF experience_id ON turns
WHEN new.tainted = 1 AND (SELECT tainted FROM raw_experiences WHERE id = new.experience_id) = 0
BEGIN SELECT raise(ABORT, 'what is made of tainted text is tainted'); END;
CREATE TRIGGER raw_experiences_guarded BEFORE INSERT ON raw_experiences
BEGIN
    SELECT CASE
        WHEN new.origin = 'owner' AND new.kind <> 'conversation'
        THEN raise(ABORT, 'nobody else speaks in the name of the owner')
        WHEN new.tainted = 0 AND new.origin IN ('tool', 'document', 'channel')
        THEN raise(ABORT, 'what others wrote is tainted')
    END;
END;
CREATE TRIGGER episodes_guarded BEFORE INSERT ON episodes
BEGIN
    SELECT CASE
        WHEN new.tainted = 0 AND new.origin IN ('tool', 'document', 'channel')
        THEN raise(ABORT, 'what others wrote is tainted')
        WHEN new.tainted = 1 AND (SELECT tainted FROM episodes WHERE id = new.merged_into) = 0
        THEN raise(ABORT, 'what is made of tainted text is tainted')
    END;
END;
CREATE TRIGGER episodes_merger_guarded BEFORE UPDATE OF merged_into ON episodes
WHEN new.tainted = 1 AND (SELECT tainted FROM episodes WHERE id = new.merged_into) = 0
BEGIN SELECT raise(ABORT, 'what is made of tainted text is tainted'); END;
CREATE TRIGGER episode_sources_guarded BEFORE INSERT ON episode_sources
WHEN (SELECT tainted FROM raw_experiences WHERE id = new.experience_id) = 1
    AND (SELECT tainted FROM episodes WHERE id = new.episode_id) = 0
BEGIN SELECT raise(ABORT, 'what is made of tainted text is tainted'); END;
CREATE TRIGGER claims_guarded BEFORE INSERT ON claims
BEGIN
    SELECT CASE
        WHEN new.origin <> coalesce(
            (SELECT origin FROM turns WHERE id = new.turn_id),
            (SELECT origin FROM raw_experiences WHERE id = new.experience_id)
        ) THEN raise(ABORT, 'nobody else speaks in the name of the owner')
        WHEN new.tainted < coalesce(
            (SELECT tainted FROM turns WHERE id = new.turn_id),
            (SELECT tainted FROM raw_experiences WHERE id = new.experience_id)
        ) THEN raise(ABORT, 'what is made of tainted text is tainted')
    END;
END;
CREATE TRIGGER deep_texts_guarded BEFORE INSERT ON deep_texts
BEGIN
    SELECT CASE
        WHEN new.origin <> CASE new.kind
            WHEN 'episode' THEN (SELECT origin FROM episodes WHERE id = new.owner_id)
            ELSE coalesce(
                (SELECT origin FROM turns WHERE id = new.owner_id),
                (SELECT origin FROM raw_experiences WHERE id = new.experience_id)
            )
        END THEN raise(ABORT, 'nobody else speaks in the name of the owner')
        WHEN new.tainted < CASE new.kind
            WHEN 'episode' THEN (SELECT tainted FROM episodes WHERE id = new.owner_id)
            ELSE coalesce(
                (SELECT tainted FROM turns WHERE id = new.owner_id),
                (SELECT tainted FROM raw_experiences WHERE id = new.experience_id)
            )
        END THEN raise(ABORT, 'what is made of tainted text is tainted')
    END;
END;
CREATE TRIGGER monologue_log_guarded BEFORE INSERT ON monologue_log
WHEN new.tainted <> (SELECT tainted FROM raw_experiences WHERE id = new.experience_id)
BEGIN SELECT raise(ABORT, 'what is made of tainted text is tainted'); END;
CREATE TRIGGER owner_notes_guarded BEFORE INSERT ON owner_notes
WHEN (SELECT tainted FROM monologue_log WHERE id = new.thought_id) = 1
BEGIN SELECT raise(ABORT, 'nothing tainted reaches the owner by itself'); END;
