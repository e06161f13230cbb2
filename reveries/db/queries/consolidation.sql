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
SELECT id, experience_id, change_set, log FROM consolidation_changes WHERE run_id = :run_id ORDER BY id;

-- name: last_run
SELECT * FROM consolidation_runs WHERE depth = 'deep' AND trigger NOT IN ('undo', 'age') ORDER BY began_at DESC, rowid DESC LIMIT 1;

-- name: keep_vector
INSERT INTO consolidation_vectors (change_id, episode_id, model_id, vector)
VALUES ((SELECT max(id) FROM consolidation_changes), :episode_id, :model_id, :vector);

-- name: vectors_of
SELECT consolidation_vectors.episode_id, consolidation_vectors.model_id, consolidation_vectors.vector
FROM consolidation_vectors
JOIN consolidation_changes ON consolidation_changes.id = consolidation_vectors.change_id
WHERE consolidation_changes.run_id = :run_id
ORDER BY consolidation_vectors.change_id;

-- name: list_runs
SELECT consolidation_runs.*, undone.undo_id, undone.undone_at, undoes.run_id AS undoes, pending.question
FROM consolidation_runs
LEFT JOIN consolidation_undone AS undone ON undone.run_id = consolidation_runs.id
LEFT JOIN consolidation_undone AS undoes ON undoes.undo_id = consolidation_runs.id
LEFT JOIN consolidation_pending AS pending ON pending.run_id = consolidation_runs.id
ORDER BY consolidation_runs.rowid DESC
LIMIT :limit;

-- name: find_run
SELECT consolidation_runs.*, undone.undo_id, undone.undone_at, undoes.run_id AS undoes, pending.question
FROM consolidation_runs
LEFT JOIN consolidation_undone AS undone ON undone.run_id = consolidation_runs.id
LEFT JOIN consolidation_undone AS undoes ON undoes.undo_id = consolidation_runs.id
LEFT JOIN consolidation_pending AS pending ON pending.run_id = consolidation_runs.id
WHERE substr(consolidation_runs.id, 1, length(:prefix)) = :prefix
ORDER BY consolidation_runs.rowid DESC
LIMIT 2;

-- name: later_changes
SELECT consolidation_changes.run_id, consolidation_changes.change_set
FROM consolidation_changes
JOIN consolidation_runs ON consolidation_runs.id = consolidation_changes.run_id
WHERE consolidation_changes.id > (SELECT min(id) FROM consolidation_changes WHERE run_id = :run_id)
    AND consolidation_changes.run_id <> :run_id
    AND consolidation_changes.run_id NOT IN (SELECT run_id FROM consolidation_undone)
    AND consolidation_changes.run_id NOT IN (SELECT undo_id FROM consolidation_undone)
ORDER BY consolidation_changes.id;

-- name: mark_undone
INSERT INTO consolidation_undone (run_id, undo_id, undone_at) VALUES (:run_id, :undo_id, :undone_at);

-- name: ask
INSERT INTO consolidation_pending (run_id, experience_id, asked_at, question, answer)
VALUES (:run_id, :experience_id, :asked_at, :question, :answer);

-- name: pending
SELECT consolidation_pending.*, consolidation_runs.began_at
FROM consolidation_pending JOIN consolidation_runs ON consolidation_runs.id = consolidation_pending.run_id
ORDER BY consolidation_pending.asked_at;

-- name: undo_of
SELECT undo_id FROM consolidation_undone WHERE run_id = :run_id;

-- name: is_shortened
SELECT 1 FROM schedule WHERE job = 'records';

-- name: mark_shortened
INSERT INTO schedule (job, next_run_at, last_run_at, last_outcome) VALUES ('records', 0, :now, 'done')
ON CONFLICT (job) DO NOTHING;

-- name: first_form
SELECT id, length(CAST(change_set AS BLOB)) AS bytes FROM consolidation_changes
WHERE substr(change_set, 1, 8) <> '{"form":'
ORDER BY id;

-- name: change_sets
SELECT id, change_set FROM consolidation_changes WHERE id IN (SELECT value FROM json_each(:ids)) ORDER BY id;

-- name: write_anew
UPDATE consolidation_changes SET change_set = :change_set WHERE id = :id AND change_set = :old;

-- name: archived_sources
SELECT experience_id AS id FROM episode_sources
WHERE experience_id IN (SELECT value FROM json_each(:ids)) AND episode_id IN (
    SELECT episode_id FROM dormancy_log
    WHERE id IN (SELECT max(id) FROM dormancy_log GROUP BY episode_id) AND became = 'dormant' AND reason = 'forgotten'
);
