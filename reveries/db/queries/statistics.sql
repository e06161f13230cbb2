-- name: counts
SELECT
    (SELECT count(*) FROM raw_experiences) AS experiences,
    (SELECT count(*) FROM raw_experiences WHERE processed = 0
        AND id NOT IN (SELECT experience_id FROM withdrawn_experiences)) AS unprocessed,
    (SELECT count(*) FROM turns) AS turns,
    (SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()) AS database_bytes;

-- name: span
SELECT
    coalesce((SELECT min(began_at) FROM conversations), 0) AS first_at,
    max(
        coalesce((SELECT max(last_said_at) FROM conversations WHERE source = 'chat'), 0),
        coalesce((SELECT max(began_at) FROM monologue_log), 0)
    ) AS last_at;

-- name: look_through
SELECT quick_check AS verdict FROM pragma_quick_check LIMIT 1;

-- name: how_it_runs
SELECT
    (SELECT journal_mode FROM pragma_journal_mode()) AS journal_mode,
    (SELECT synchronous FROM pragma_synchronous()) AS synchronous,
    (SELECT foreign_keys FROM pragma_foreign_keys()) AS foreign_keys,
    (SELECT secure_delete FROM pragma_secure_delete()) AS secure_delete,
    (SELECT timeout FROM pragma_busy_timeout()) AS busy_timeout;
