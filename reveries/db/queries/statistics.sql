-- name: counts
SELECT
    (SELECT count(*) FROM raw_experiences) AS experiences,
    (SELECT count(*) FROM raw_experiences WHERE processed = 0) AS unprocessed,
    (SELECT count(*) FROM turns) AS turns,
    (SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()) AS database_bytes;

-- name: links
SELECT type, count(*) AS links
FROM episode_links
JOIN episodes AS source ON source.id = episode_links.from_id AND source.merged_into IS NULL AND source.dormant = 0
JOIN episodes AS target ON target.id = episode_links.to_id AND target.merged_into IS NULL AND target.dormant = 0
GROUP BY type;

-- name: stored_episodes
SELECT count(*) AS episodes FROM episodes;
