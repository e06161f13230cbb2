-- name: all
SELECT * FROM provider_circuits

-- name: put
INSERT INTO provider_circuits
    (provider, failures, pauses, opened_at, failed_at, next_try_at, asked_until, last_fault, last_error)
VALUES
    (:provider, :failures, :pauses, :opened_at, :failed_at, :next_try_at, :asked_until, :last_fault, :last_error)
ON CONFLICT (provider) DO UPDATE SET
    failures = excluded.failures,
    pauses = excluded.pauses,
    opened_at = excluded.opened_at,
    failed_at = excluded.failed_at,
    next_try_at = excluded.next_try_at,
    asked_until = excluded.asked_until,
    last_fault = excluded.last_fault,
    last_error = excluded.last_error

-- name: forget
DELETE FROM provider_circuits WHERE provider = :provider
