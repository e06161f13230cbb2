-- name: put
INSERT INTO claims (
    id, subject, relation, value, quote, is_change, turn_id, experience_id, speaker, said_at, found_by, origin, tainted,
    checksum
) VALUES (
    :id, :subject, :relation, :value, :quote, :is_change, :turn_id, :experience_id, :speaker, :said_at, :found_by,
    :origin, :tainted, :checksum
) ON CONFLICT (id) DO NOTHING;

-- name: put_conflict
INSERT INTO claim_conflicts (id, earlier_id, later_id, kind, reason, found_at)
VALUES (:id, :earlier_id, :later_id, :kind, :reason, :found_at)
ON CONFLICT (id) DO NOTHING;

-- name: settle
UPDATE claim_conflicts SET settled = :settled, settled_at = :settled_at WHERE id = :conflict_id;

-- name: all
SELECT * FROM claims ORDER BY rowid;

-- name: conflicts
SELECT * FROM claim_conflicts ORDER BY rowid;
