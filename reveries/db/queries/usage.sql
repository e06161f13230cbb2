-- A row that was never settled counts with its worst case: "charged" is what a row counts against a budget.

-- name: last_reserved_at
SELECT max(reserved_at) AS reserved_at FROM usage_ledger

-- name: charged_tokens
SELECT coalesce(sum(CASE WHEN settled_at IS NULL THEN reserved_tokens ELSE prompt_tokens + completion_tokens END), 0)
    AS tokens
FROM usage_ledger
WHERE reserved_at >= :since AND role = :role

-- name: charged_microdollars
SELECT coalesce(sum(CASE WHEN settled_at IS NULL THEN reserved_microdollars ELSE microdollars END), 0) AS microdollars
FROM usage_ledger
WHERE reserved_at >= :since

-- name: reserve
INSERT INTO usage_ledger (reserved_at, role, model, reserved_tokens, reserved_microdollars, price_version)
VALUES (:reserved_at, :role, :model, :reserved_tokens, :reserved_microdollars, :price_version)
RETURNING id

-- name: settle
UPDATE usage_ledger
SET settled_at = :settled_at,
    prompt_tokens = :prompt_tokens,
    cached_tokens = :cached_tokens,
    completion_tokens = :completion_tokens,
    microdollars = :microdollars,
    outcome = :outcome
WHERE id = :id AND settled_at IS NULL

-- name: leave_reserved
UPDATE usage_ledger SET outcome = :outcome WHERE id = :id AND settled_at IS NULL

-- name: used_by_role
SELECT role,
       sum(outcome <> 'released') AS calls,
       sum(prompt_tokens) AS prompt_tokens,
       sum(completion_tokens) AS completion_tokens,
       sum(CASE WHEN settled_at IS NULL THEN reserved_tokens ELSE 0 END) AS unsettled_tokens,
       sum(CASE WHEN settled_at IS NULL THEN reserved_microdollars ELSE microdollars END) AS microdollars
FROM usage_ledger
WHERE reserved_at >= :since
GROUP BY role
