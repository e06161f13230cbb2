-- name: fill
INSERT INTO schedule (job, next_run_at, last_run_at, last_outcome)
VALUES ('room', 0, 0, hex(randomblob(:bytes / 2)))
ON CONFLICT (job) DO UPDATE SET last_outcome = excluded.last_outcome;

-- name: clear
DELETE FROM schedule WHERE job = 'room';
