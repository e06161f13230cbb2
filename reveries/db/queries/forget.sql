-- Erasing on the owner's request (`reveries forget --erase`). Only memory/forgetting uses these.

-- name: turns
SELECT id, experience_id, said_at AS at, origin, speaker || ' ' || text AS text FROM turns;

-- name: experiences
SELECT id, happened_at AS at, kind, content || ' ' || metadata AS text FROM raw_experiences;

-- name: episodes
SELECT id, created_at AS at, merged_into, dormant, summary AS shown,
    summary || ' ' || exemplars || ' ' || topics || ' ' || entities || ' ' || coalesce(gap, '') AS text
FROM episodes;

-- name: sources
SELECT episode_id, experience_id FROM episode_sources;

-- name: thoughts
SELECT id, began_at AS at, ended_at, experience_id, recalled, text || ' ' || explanation || ' ' || occasion AS text
FROM monologue_log;

-- name: notes
SELECT id, thought_id, written_at AS at, text || ' ' || reason AS text FROM owner_notes;

-- name: claims
SELECT id, experience_id, said_at AS at, quote AS shown,
    subject || ' ' || relation || ' ' || value || ' ' || speaker || ' ' || quote AS text
FROM claims;

-- name: conflicts
SELECT id, earlier_id, later_id, reason AS text FROM claim_conflicts;

-- name: passes
SELECT id, experience_id, change_set || ' ' || log AS text FROM consolidation_changes;

-- name: pending
SELECT run_id AS id, experience_id, question || ' ' || answer AS text FROM consolidation_pending;

-- name: conversations
SELECT id, source || ' ' || title AS text, folded_summary, folded_until FROM conversations;

-- name: emptied
SELECT id FROM conversations
WHERE id IN (SELECT conversation_id FROM turns WHERE id IN (SELECT value FROM json_each(:ids)))
    AND id NOT IN (SELECT conversation_id FROM turns WHERE id NOT IN (SELECT value FROM json_each(:ids)))
    AND (title <> '' OR source NOT IN ('chat', 'erased'));

-- name: folded_over
SELECT DISTINCT turns.conversation_id AS id FROM turns
JOIN conversations ON conversations.id = turns.conversation_id
WHERE turns.id IN (SELECT value FROM json_each(:ids)) AND turns.position < conversations.folded_until;

-- name: gaps
SELECT id, significance AS text FROM gaps WHERE significance <> '';

-- name: trips
SELECT id, happened_at AS at, explanation || ' ' || buffer_snapshot || ' ' || reason || ' ' || response_taken AS text
FROM circuit_breaker_events;

-- name: tripwires
SELECT id, happened_at AS at, excerpt AS text FROM tripwire_events;

-- name: asked
SELECT id, about AS text FROM asked_thoughts;

-- name: held
SELECT experience_id AS id, why AS text FROM held_experiences;

-- name: circuits
SELECT provider AS id, last_error AS text FROM provider_circuits WHERE last_error <> '';

-- name: told_events
SELECT event_key AS id, event_key AS text FROM calendar_told;

-- name: self_history
SELECT id, reason, evidence, before FROM self_model_history ORDER BY id DESC;

-- name: turn_texts
SELECT id, text, said_at FROM turns WHERE id IN (SELECT value FROM json_each(:ids)) ORDER BY said_at, id;

-- name: episode_rows
SELECT * FROM episodes WHERE id IN (SELECT value FROM json_each(:ids));

-- name: temporal_around
SELECT id, temporal_before, temporal_after FROM episodes
WHERE EXISTS (SELECT 1 FROM json_each(temporal_before) WHERE value IN (SELECT value FROM json_each(:ids)))
    OR EXISTS (SELECT 1 FROM json_each(temporal_after) WHERE value IN (SELECT value FROM json_each(:ids)));

-- name: put_temporal
UPDATE episodes SET temporal_before = :before, temporal_after = :after WHERE id = :id;

-- name: deep_ids
SELECT id FROM deep_texts
WHERE owner_id IN (SELECT value FROM json_each(:owners)) OR experience_id IN (SELECT value FROM json_each(:experiences));

-- name: drop_deep
DELETE FROM deep_texts WHERE id IN (SELECT value FROM json_each(:ids));

-- name: drop_vectors
DELETE FROM vectors WHERE owner_kind IN ('episode', 'turn') AND owner_id IN (SELECT value FROM json_each(:ids));

-- name: drop_passage_vectors
-- The id of a passage is that of its experience, '#', and a number: '$' sorts right after '#'.
DELETE FROM vectors WHERE owner_kind = 'turn' AND owner_id IN (
    SELECT passage.owner_id FROM json_each(:ids) AS gone CROSS JOIN vectors AS passage
    WHERE passage.owner_kind = 'turn'
        AND passage.owner_id > gone.value || '#' AND passage.owner_id < gone.value || '$'
);

-- name: drop_sleep_vectors
DELETE FROM consolidation_vectors
WHERE episode_id IN (SELECT value FROM json_each(:episodes)) OR change_id IN (SELECT value FROM json_each(:passes));

-- name: drop_cache
DELETE FROM embedding_cache;

-- name: drop_links
DELETE FROM episode_links
WHERE from_id IN (SELECT value FROM json_each(:ids)) OR to_id IN (SELECT value FROM json_each(:ids));

-- name: drop_sources
DELETE FROM episode_sources
WHERE episode_id IN (SELECT value FROM json_each(:episodes))
    OR experience_id IN (SELECT value FROM json_each(:experiences));

-- name: drop_source
DELETE FROM episode_sources WHERE episode_id = :episode_id AND experience_id = :experience_id;

-- name: drop_dormancy
DELETE FROM dormancy_log WHERE episode_id IN (SELECT value FROM json_each(:ids));

-- name: drop_surfaced
DELETE FROM surfaced_memories WHERE episode_id IN (SELECT value FROM json_each(:ids));

-- name: move_merged
UPDATE episodes SET merged_into = :into WHERE id = :id;

-- name: drop_episodes
DELETE FROM episodes WHERE id IN (SELECT value FROM json_each(:ids));

-- name: drop_conflicts
DELETE FROM claim_conflicts WHERE id IN (SELECT value FROM json_each(:ids));

-- name: drop_claims
DELETE FROM claims WHERE id IN (SELECT value FROM json_each(:ids));

-- name: drop_notes
DELETE FROM owner_notes WHERE id IN (SELECT value FROM json_each(:ids));

-- name: drop_marks
DELETE FROM thought_marks WHERE thought_id IN (SELECT value FROM json_each(:ids));

-- name: drop_thoughts
DELETE FROM monologue_log WHERE id IN (SELECT value FROM json_each(:ids));

-- name: drop_turns
DELETE FROM turns WHERE id IN (SELECT value FROM json_each(:ids));

-- name: drop_withdrawn
DELETE FROM withdrawn_experiences WHERE experience_id IN (SELECT value FROM json_each(:ids));

-- name: drop_held
DELETE FROM held_experiences WHERE experience_id IN (SELECT value FROM json_each(:ids));

-- name: drop_pending
DELETE FROM consolidation_pending WHERE run_id IN (SELECT value FROM json_each(:ids));

-- name: empty_passes
UPDATE consolidation_changes
SET change_set = '{"form":2,"is_erased":true}', log = 'Erased on your word.',
    experience_id = CASE WHEN experience_id IN (SELECT value FROM json_each(:experiences)) THEN NULL ELSE experience_id END
WHERE id IN (SELECT value FROM json_each(:ids));

-- name: drop_experiences
DELETE FROM raw_experiences WHERE id IN (SELECT value FROM json_each(:ids));

-- name: sleep_anew
UPDATE raw_experiences SET processed = 0, attempts = 0 WHERE id IN (SELECT value FROM json_each(:ids));

-- name: unfold
UPDATE conversations SET folded_summary = '', folded_until = 0 WHERE id IN (SELECT value FROM json_each(:ids));

-- name: summaries_over
SELECT id, folded_summary, folded_until FROM conversations
WHERE folded_until > 0 AND id IN (
    SELECT conversation_id FROM turns
    WHERE experience_id IN (SELECT value FROM json_each(:ids)) AND position < conversations.folded_until
);

-- name: put_summary
UPDATE conversations SET folded_summary = :summary, folded_until = :until WHERE id = :id;

-- name: untitle
UPDATE conversations SET title = '', source = CASE source WHEN 'chat' THEN 'chat' ELSE 'erased' END
WHERE id IN (SELECT value FROM json_each(:ids));

-- name: empty_gaps
UPDATE gaps SET significance = '' WHERE id IN (SELECT value FROM json_each(:ids));

-- name: empty_trips
UPDATE circuit_breaker_events SET buffer_snapshot = '', explanation = 'Erased on your word.'
WHERE id IN (SELECT value FROM json_each(:ids));

-- name: empty_tripwires
UPDATE tripwire_events SET excerpt = '' WHERE id IN (SELECT value FROM json_each(:ids));

-- name: drop_asked
DELETE FROM asked_thoughts WHERE id IN (SELECT value FROM json_each(:ids));

-- name: empty_circuits
UPDATE provider_circuits SET last_error = '' WHERE provider IN (SELECT value FROM json_each(:ids));

-- name: drop_told_events
DELETE FROM calendar_told WHERE event_key IN (SELECT value FROM json_each(:ids));

-- name: empty_buffer
UPDATE monologue_state SET last_buffer = '', last_context = '{}';

-- name: put_self_history
UPDATE self_model_history SET reason = :reason, evidence = :evidence, before = :before WHERE id = :id;

-- name: end_snapshot_marks
DELETE FROM snapshot_marks;

-- name: end_noted
DELETE FROM changed_rows;

-- name: merge_words
INSERT INTO deep_words (deep_words) VALUES ('optimize');

-- name: put_erasure
INSERT INTO erasures (id, erased_at, chosen_by, hash_key, counts)
VALUES (:id, :erased_at, :chosen_by, :hash_key, :counts) ON CONFLICT DO NOTHING;

-- name: put_tombstone
INSERT INTO tombstones (kind, hash, words, erasure_id) VALUES (:kind, :hash, :words, :erasure_id) ON CONFLICT DO NOTHING;

-- name: erasures
SELECT id, erased_at, chosen_by, hash_key, counts FROM erasures ORDER BY erased_at, id;

-- name: tombstones
SELECT kind, hash, words, erasure_id FROM tombstones;

-- name: archive
UPDATE episodes SET dormant = 1 WHERE id IN (SELECT value FROM json_each(:ids)) AND merged_into IS NULL;

-- name: withdraw_ones
INSERT INTO withdrawn_experiences (experience_id, withdrawn_at)
SELECT value, :now FROM json_each(:ids) WHERE true ON CONFLICT DO NOTHING;

-- name: readmit
DELETE FROM withdrawn_experiences WHERE experience_id IN (SELECT value FROM json_each(:ids));

-- name: archived
SELECT episode_id AS id FROM dormancy_log
WHERE id IN (SELECT max(id) FROM dormancy_log GROUP BY episode_id) AND became = 'dormant' AND reason = 'forgotten';

-- name: documents
SELECT id FROM documents

-- name: document_names
SELECT name FROM documents WHERE id = :id

-- name: document_texts
-- The pages of a document, with the texts of what it had before.
SELECT text, EXISTS (
    SELECT 1 FROM pointers JOIN citations ON citations.pointer_id = chunk_id WHERE page_id = pages.id
) AS is_cited
FROM pages WHERE document_id = :id
UNION ALL
SELECT content, EXISTS (SELECT 1 FROM citations WHERE citations.pointer_id = chunks.id)
FROM chunks WHERE document_id = :id AND fell_because <> ''

-- name: turns_citing
SELECT DISTINCT turn_id FROM citations JOIN chunks ON chunks.id = pointer_id WHERE document_id = :id

-- name: drop_chunks_of_documents
-- With what was made of them.
WITH RECURSIVE gone (id) AS (
    SELECT id FROM chunks WHERE document_id IN (SELECT value FROM json_each(:ids))
    UNION
    SELECT made.id FROM gone, chunks AS made, json_each(made.rests_on) AS base WHERE base.value = gone.id
)
DELETE FROM chunks WHERE id IN (SELECT id FROM gone)

-- name: drop_pages_of_documents
DELETE FROM pages WHERE document_id IN (SELECT value FROM json_each(:ids))

-- name: drop_documents
DELETE FROM documents WHERE id IN (SELECT value FROM json_each(:ids))
