-- The tested tier of each model.

-- name: put
INSERT INTO model_tiers (model, tier, tested_at, scores) VALUES (:model, :tier, :tested_at, :scores)
ON CONFLICT (model) DO UPDATE SET tier = excluded.tier, tested_at = excluded.tested_at, scores = excluded.scores

-- name: all
SELECT model, tier, tested_at, scores FROM model_tiers ORDER BY model
