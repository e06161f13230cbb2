-- Undoing a pass on the owner's request: rows that the pass wrote are removed. Nothing else of memory deletes rows.

-- name: drop_link
DELETE FROM episode_links WHERE from_id = :from_id AND to_id = :to_id AND type = :type;

-- name: drop_links
DELETE FROM episode_links WHERE from_id = :id OR to_id = :id;

-- name: drop_source
DELETE FROM episode_sources WHERE episode_id = :episode_id AND experience_id = :experience_id;

-- name: drop_sources
DELETE FROM episode_sources WHERE episode_id = :id;

-- name: put_taint_back
UPDATE episodes SET tainted = :tainted WHERE id = :id;

-- name: tainted_still
SELECT id FROM raw_experiences WHERE tainted = 1 AND id IN (SELECT value FROM json_each(:experiences))
UNION ALL
SELECT id FROM episodes WHERE tainted = 1 AND id IN (SELECT value FROM json_each(:merged));

-- name: drop_dormancy
DELETE FROM dormancy_log WHERE episode_id = :id;

-- name: drop_episode
DELETE FROM episodes WHERE id = :id;

-- name: drop_turn_vector
DELETE FROM vectors WHERE owner_kind = 'turn' AND owner_id = :owner_id;

-- name: release
DELETE FROM held_experiences WHERE experience_id = :experience_id;

-- name: drop_pending
DELETE FROM consolidation_pending WHERE run_id = :run_id;

-- name: drop_conflict
DELETE FROM claim_conflicts WHERE id = :id;

-- name: drop_claim
DELETE FROM claims WHERE id = :id;

-- name: take_back_turn
DELETE FROM turns WHERE id = :id;

-- name: take_back_vectors
DELETE FROM vectors WHERE owner_kind = 'turn' AND owner_id = :id;

-- name: take_back_experience
DELETE FROM raw_experiences WHERE id = :id AND light_slept = 0;
