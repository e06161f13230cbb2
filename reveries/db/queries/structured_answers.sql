-- How often the answers of each model fit the requested schema.

-- name: count
INSERT INTO structured_answers (model, valid, repaired, failed) VALUES (:model, :valid, :repaired, :failed)
ON CONFLICT (model) DO UPDATE
SET valid = valid + excluded.valid, repaired = repaired + excluded.repaired, failed = failed + excluded.failed

-- name: all
SELECT model, valid, repaired, failed FROM structured_answers ORDER BY model
