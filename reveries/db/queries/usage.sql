-- "Charged" is what a row counts against a limit: the settled amount, else its worst case. A call that was still running
-- at midnight counts in both days, because the provider may bill it on either.

-- name: last_reserved_at
SELECT max(reserved_at) AS reserved_at FROM usage_ledger

-- name: newest
SELECT coalesce(max(id), 0) AS newest FROM usage_ledger

-- name: used_after
SELECT coalesce(sum(outcome <> 'released'), 0) AS calls,
       coalesce(sum(CASE WHEN settled_at IS NULL THEN reserved_tokens ELSE prompt_tokens END), 0) AS prompt_tokens,
       coalesce(sum(completion_tokens), 0) AS completion_tokens,
       coalesce(sum(CASE WHEN settled_at IS NULL THEN reserved_microdollars ELSE microdollars END), 0) AS microdollars
FROM usage_ledger
WHERE id > :id AND role = :role

-- name: charged
SELECT coalesce(sum(tokens) FILTER (WHERE role = :role), 0) AS role_tokens,
       coalesce(sum(microdollars) FILTER (WHERE role = :role), 0) AS role_microdollars,
       coalesce(sum(tokens) FILTER (WHERE role <> 'embedding'), 0) AS tokens,
       coalesce(sum(microdollars), 0) AS microdollars
FROM (
    SELECT role,
           CASE WHEN settled_at IS NULL THEN reserved_tokens ELSE prompt_tokens + completion_tokens END AS tokens,
           CASE WHEN settled_at IS NULL THEN reserved_microdollars ELSE microdollars END AS microdollars
    FROM usage_ledger
    WHERE reserved_at >= :since - :longest_call_seconds
        AND coalesce(settled_at, reserved_at + :longest_call_seconds) >= :since
)

-- name: reserve
INSERT INTO usage_ledger (reserved_at, role, model, reserved_tokens, reserved_microdollars, price_version, project_id)
VALUES (:reserved_at, :role, :model, :reserved_tokens, :reserved_microdollars, :price_version, :project_id)
RETURNING id

-- name: settle
UPDATE usage_ledger
SET settled_at = :settled_at,
    prompt_tokens = :prompt_tokens,
    cached_tokens = :cached_tokens,
    completion_tokens = :completion_tokens,
    reasoning_tokens = :reasoning_tokens,
    microdollars = :microdollars,
    outcome = :outcome
WHERE id = :id AND settled_at IS NULL

-- name: leave_reserved
UPDATE usage_ledger SET outcome = :outcome WHERE id = :id AND settled_at IS NULL

-- name: expire
UPDATE usage_ledger SET outcome = 'expired'
WHERE outcome = 'reserved' AND reserved_at < :before AND settled_at IS NULL
RETURNING id

-- name: record
INSERT INTO usage_ledger (reserved_at, settled_at, role, model, reserved_tokens, reserved_microdollars, prompt_tokens,
    price_version, outcome)
VALUES (:now, :now, :role, :model, 0, 0, :prompt_tokens, :price_version, 'answered')

-- name: used_by_role_and_model
SELECT role,
       model,
       sum(outcome <> 'released') AS calls,
       sum(prompt_tokens) AS prompt_tokens,
       sum(cached_tokens) AS cached_tokens,
       sum(completion_tokens) AS completion_tokens,
       sum(reasoning_tokens) AS reasoning_tokens,
       sum(CASE WHEN settled_at IS NULL THEN reserved_tokens ELSE 0 END) AS unsettled_tokens,
       sum(CASE WHEN settled_at IS NULL THEN reserved_microdollars ELSE microdollars END) AS microdollars,
       sum(outcome = 'reserved') AS running_calls,
       sum(outcome IN ('usage unknown', 'expired', 'not believed')) AS worst_case_calls,
       sum(CASE WHEN outcome IN ('usage unknown', 'expired') THEN reserved_microdollars
                WHEN outcome = 'not believed' THEN microdollars ELSE 0 END) AS worst_case_microdollars
FROM usage_ledger
WHERE reserved_at >= :since
GROUP BY role, model
HAVING calls > 0
ORDER BY role, model

-- name: used_between
SELECT coalesce(sum(outcome <> 'released'), 0) AS calls,
       coalesce(sum(CASE WHEN settled_at IS NULL THEN reserved_tokens ELSE prompt_tokens + completion_tokens END), 0)
           AS tokens,
       coalesce(sum(CASE WHEN settled_at IS NULL THEN reserved_microdollars ELSE microdollars END), 0) AS microdollars
FROM usage_ledger
WHERE reserved_at >= :since AND reserved_at < :until AND role <> 'embedding'

-- name: charged_to_goal
SELECT goals.dollars_limit, coalesce(sum(
    CASE WHEN settled_at IS NULL THEN reserved_microdollars ELSE microdollars END
), 0) AS microdollars
FROM goals LEFT JOIN usage_ledger
    ON usage_ledger.project_id = goals.project_id AND usage_ledger.reserved_at >= goals.applied_at
WHERE goals.project_id = :project_id AND goals.state = 'active'
GROUP BY goals.id

-- name: used_by_project
SELECT project_id, sum(outcome <> 'released') AS calls,
    sum(CASE WHEN settled_at IS NULL THEN reserved_tokens ELSE prompt_tokens + completion_tokens END) AS tokens,
    sum(CASE WHEN settled_at IS NULL THEN reserved_microdollars ELSE microdollars END) AS microdollars
FROM usage_ledger WHERE project_id IS NOT NULL GROUP BY project_id
