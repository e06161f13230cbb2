-- From schema 5 to 6.

-- the owner's hand on episodes:
-- Episodes that the owner pinned: time leaves them alone. A pin on one that was merged is its home's (pins.homes).
CREATE TABLE pinned_episodes (
    episode_id TEXT PRIMARY KEY REFERENCES episodes (id) ON DELETE CASCADE,
    pinned_at REAL NOT NULL
) STRICT;
