-- name: begin
INSERT INTO consolidation_runs (id, depth, trigger, began_at) VALUES (:id, :depth, :trigger, :began_at);

-- name: count
UPDATE consolidation_runs
SET processed = processed + :processed, created = created + :created, merged = merged + :merged,
    fallbacks = fallbacks + :fallbacks
WHERE id = :id;

-- name: end
UPDATE consolidation_runs SET ended_at = :ended_at, outcome = :outcome WHERE id = :id;

-- name: end_broken_off
UPDATE consolidation_runs SET ended_at = began_at, outcome = 'broken off' WHERE outcome = 'running';

-- name: record
INSERT INTO consolidation_changes (run_id, experience_id, change_set, log)
VALUES (:run_id, :experience_id, :change_set, :log);

-- name: changes_of
SELECT experience_id, change_set, log FROM consolidation_changes WHERE run_id = :run_id ORDER BY id;

-- name: last_run
SELECT * FROM consolidation_runs WHERE depth = 'deep' ORDER BY began_at DESC, rowid DESC LIMIT 1;
