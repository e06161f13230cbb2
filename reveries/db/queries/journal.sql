-- name: put_trip
INSERT INTO circuit_breaker_events (
    happened_at, source, action, reason, severity, explanation, buffer_snapshot, response_taken
) VALUES (:happened_at, :source, :action, :reason, :severity, :explanation, :buffer_snapshot, :response_taken);

-- name: recent_trips
SELECT happened_at, source, action, reason, severity, explanation, buffer_snapshot, response_taken
FROM circuit_breaker_events
ORDER BY id DESC
LIMIT :limit;

-- name: put_indicator
INSERT INTO tripwire_events (happened_at, indicator, excerpt, monologue_state)
VALUES (:happened_at, :indicator, :excerpt, :monologue_state);

-- name: indicator_counts
SELECT indicator, count(*) AS occurrences, count(DISTINCT CAST(happened_at / 86400 AS INTEGER)) AS days,
    min(happened_at) AS first_at, max(happened_at) AS last_at
FROM tripwire_events
GROUP BY indicator;
