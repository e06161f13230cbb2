-- name: counts
SELECT
    (SELECT count(*) FROM raw_experiences) AS experiences,
    (SELECT count(*) FROM raw_experiences WHERE processed = 0
        AND id NOT IN (SELECT experience_id FROM withdrawn_experiences)) AS unprocessed,
    (SELECT count(*) FROM turns) AS turns,
    (SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()) AS database_bytes;

-- name: stored_episodes
SELECT count(*) AS episodes FROM episodes;
