-- name: put
INSERT INTO pinned_episodes (episode_id, pinned_at) VALUES (:episode_id, :now) ON CONFLICT (episode_id) DO NOTHING;

-- name: homes
-- Every pin with its current episode: its own, or the one it was merged into.
WITH RECURSIVE home (pinned_id, id, merged_into) AS (
    SELECT pinned_episodes.episode_id, episodes.id, episodes.merged_into
    FROM pinned_episodes JOIN episodes ON episodes.id = pinned_episodes.episode_id
    UNION
    SELECT home.pinned_id, episodes.id, episodes.merged_into
    FROM home JOIN episodes ON episodes.id = home.merged_into
)
SELECT pinned_id, id AS home_id FROM home WHERE merged_into IS NULL;

-- name: drop
DELETE FROM pinned_episodes WHERE episode_id = :episode_id;
