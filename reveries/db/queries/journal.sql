-- name: put_trip
INSERT INTO circuit_breaker_events (
    happened_at, source, action, reason, severity, explanation, buffer_snapshot, response_taken
) VALUES (:happened_at, :source, :action, :reason, :severity, :explanation, :buffer_snapshot, :response_taken);

-- name: recent_trips
SELECT happened_at, source, action, reason, severity, explanation, buffer_snapshot, response_taken
FROM circuit_breaker_events
ORDER BY id DESC
LIMIT :limit;

-- name: last_of_thinking
-- The last trip that ended a thought, or the owner's release that ended the rest after it.
SELECT happened_at, source, action, reason, severity, explanation, buffer_snapshot, response_taken
FROM circuit_breaker_events
WHERE source = 'monologue' AND (reason = 'owners_release' OR action NOT IN ('continue', 'throttle'))
ORDER BY id DESC
LIMIT 1;

-- name: put_indicator
INSERT INTO tripwire_events (happened_at, indicator, excerpt, monologue_state)
VALUES (:happened_at, :indicator, :excerpt, :monologue_state);

-- name: indicator_counts
SELECT indicator, count(*) AS occurrences, count(DISTINCT CAST(happened_at / 86400 AS INTEGER)) AS days,
    min(happened_at) AS first_at, max(happened_at) AS last_at
FROM tripwire_events
GROUP BY indicator;

-- name: indicator_weeks
SELECT indicator, CAST((:now - happened_at) / 604800 AS INTEGER) AS weeks_ago, count(*) AS occurrences
FROM tripwire_events
WHERE happened_at > :now - 604800 * :weeks AND happened_at <= :now
GROUP BY indicator, weeks_ago;

-- name: indicator_excerpts
SELECT indicator, happened_at, excerpt, monologue_state
FROM (
    SELECT *, row_number() OVER (PARTITION BY indicator ORDER BY happened_at DESC, id DESC) AS place
    FROM tripwire_events
)
WHERE place <= :limit
ORDER BY indicator, happened_at DESC;

-- name: thought_count
SELECT count(*) AS thoughts FROM monologue_log WHERE text <> '';

-- name: thought_weeks
SELECT CAST((:now - began_at) / 604800 AS INTEGER) AS weeks_ago, count(*) AS thoughts
FROM monologue_log
WHERE began_at > :now - 604800 * :weeks AND began_at <= :now AND text <> ''
GROUP BY weeks_ago;

-- name: trip_counts
SELECT reason, count(*) AS trips FROM circuit_breaker_events
WHERE reason <> 'owners_release'
GROUP BY reason;
