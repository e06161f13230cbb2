-- name: all
SELECT job, next_run_at, last_run_at, last_outcome FROM schedule;

-- name: put
INSERT INTO schedule (job, next_run_at, last_run_at, last_outcome)
VALUES (:job, :next_run_at, :last_run_at, :last_outcome)
ON CONFLICT (job) DO UPDATE SET next_run_at = excluded.next_run_at,
    last_run_at = excluded.last_run_at, last_outcome = excluded.last_outcome;
