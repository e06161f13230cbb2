-- How often the answers of each model fit the requested schema.

-- name: count
INSERT INTO structured_answers (model, valid, repaired, failed) VALUES (:model, :valid, :repaired, :failed)
ON CONFLICT (model) DO UPDATE
SET valid = valid + excluded.valid, repaired = repaired + excluded.repaired, failed = failed + excluded.failed

-- name: all
SELECT model, valid, repaired, failed FROM structured_answers WHERE valid + repaired + failed > 0 ORDER BY model

-- name: note_refusal
INSERT INTO structured_answers (model, schema_refused_at) VALUES (:model, :refused_at)
ON CONFLICT (model) DO UPDATE SET schema_refused_at = excluded.schema_refused_at

-- name: refusals
SELECT model, schema_refused_at FROM structured_answers WHERE schema_refused_at IS NOT NULL ORDER BY model
