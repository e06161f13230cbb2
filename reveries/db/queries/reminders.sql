-- name: all
SELECT task_id, due, kind FROM reminders

-- name: waiting
SELECT task_id, due, kind FROM reminders WHERE shown_at IS NULL

-- name: put
INSERT OR IGNORE INTO reminders (task_id, due, kind, made_at) VALUES (:task_id, :due, :kind, :now)

-- name: mark_shown
UPDATE reminders SET shown_at = :now WHERE shown_at IS NULL
