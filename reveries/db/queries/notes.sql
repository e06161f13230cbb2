-- Notes to the owner that thoughts ended with. Nothing tainted is shown without a request: a waiting note whose thought
-- turns out to be tainted later (db/inheritance.sql) is only in the list. One that the owner's words answered waits no more.

-- name: put
INSERT INTO owner_notes (id, thought_id, written_at, text, reason, checksum)
VALUES (:id, :thought_id, :written_at, :text, :reason, :checksum);

-- name: latest
SELECT * FROM (SELECT * FROM owner_notes ORDER BY written_at DESC LIMIT :limit) ORDER BY written_at;

-- name: waiting
SELECT * FROM owner_notes
WHERE shown_at IS NULL AND dismissed_at IS NULL AND answered_in IS NULL
    AND NOT EXISTS (SELECT 1 FROM monologue_log WHERE monologue_log.id = owner_notes.thought_id AND tainted = 1)
ORDER BY written_at;

-- name: to_show
-- Of those that wait, the ones that no words of the owner can have answered: sleep has read all that are newer than the
-- note, or it has not come to the first of them since :talk_after, and may never.
SELECT * FROM owner_notes
WHERE shown_at IS NULL AND dismissed_at IS NULL AND answered_in IS NULL
    AND NOT EXISTS (SELECT 1 FROM monologue_log WHERE monologue_log.id = owner_notes.thought_id AND tainted = 1)
    AND coalesce((
        SELECT min(turns.said_at) FROM turns JOIN raw_experiences ON raw_experiences.id = turns.experience_id
        WHERE turns.origin = 'owner' AND turns.said_at > owner_notes.written_at AND raw_experiences.processed = 0
    ), :talk_after) <= :talk_after
ORDER BY written_at;

-- name: mark_answered
UPDATE owner_notes SET answered_in = :run_id WHERE id = :id AND shown_at IS NULL;

-- name: put_back_answered
UPDATE owner_notes SET answered_in = NULL WHERE answered_in = :run_id;

-- name: named
SELECT * FROM owner_notes WHERE substr(id, 1, length(:prefix)) = :prefix LIMIT 2;

-- name: mark_shown
UPDATE owner_notes SET shown_at = :now WHERE id = :id AND shown_at IS NULL;

-- name: dismiss
UPDATE owner_notes SET dismissed_at = :now WHERE id = :id AND dismissed_at IS NULL;

-- name: drop_of_thought
UPDATE owner_notes SET dismissed_at = :now WHERE thought_id = :thought_id AND dismissed_at IS NULL;
