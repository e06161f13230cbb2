-- How well each model keeps to the form it is asked for.

-- name: count
INSERT INTO structured_answers (model, valid, repaired, failed) VALUES (:model, :valid, :repaired, :failed)
ON CONFLICT (model) DO UPDATE
SET valid = valid + excluded.valid, repaired = repaired + excluded.repaired, failed = failed + excluded.failed

-- name: all
SELECT model, valid, repaired, failed FROM structured_answers ORDER BY model
