-- name: get
SELECT * FROM self_model WHERE id = 1;

-- name: put
INSERT INTO self_model (
    id, narrative, "values", tendencies, relationship, strengths, limitations, current_focus, unresolved_threads,
    anticipations, updated_at, closed_threads, past_facts, days
) VALUES (
    1, :narrative, :values, :tendencies, :relationship, :strengths, :limitations, :current_focus, :unresolved_threads,
    :anticipations, :updated_at, :closed_threads, :past_facts, :days
) ON CONFLICT (id) DO UPDATE SET
    narrative = excluded.narrative, "values" = excluded."values", tendencies = excluded.tendencies,
    relationship = excluded.relationship, strengths = excluded.strengths, limitations = excluded.limitations,
    current_focus = excluded.current_focus, unresolved_threads = excluded.unresolved_threads,
    anticipations = excluded.anticipations, updated_at = excluded.updated_at,
    closed_threads = excluded.closed_threads, past_facts = excluded.past_facts, days = excluded.days;

-- name: remember
INSERT INTO self_model_history (replaced_at, run_id, reason, evidence, before)
VALUES (:replaced_at, :run_id, :reason, :evidence, :before);

-- name: history
SELECT * FROM self_model_history ORDER BY id DESC LIMIT :limit;

-- name: history_entry
SELECT * FROM self_model_history WHERE id = :id;

-- name: history_count
SELECT count(*) AS changes FROM self_model_history;
