-- From schema 2 to 3.

-- Sleep that can be looked at, asked about and taken back; what is claimed; what a reply only repeats.
ALTER TABLE turns ADD COLUMN echoes TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(echoes));

-- Undoing light sleep erases episodes: each would read all links and all episodes without these.
CREATE INDEX episodes_by_merger ON episodes (merged_into) WHERE merged_into IS NOT NULL;
CREATE INDEX episode_links_by_target ON episode_links (to_id);

CREATE TABLE consolidation_undone (
    run_id TEXT PRIMARY KEY REFERENCES consolidation_runs (id),
    undo_id TEXT NOT NULL UNIQUE REFERENCES consolidation_runs (id),
    undone_at REAL NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE consolidation_vectors (
    change_id INTEGER NOT NULL REFERENCES consolidation_changes (id),
    episode_id TEXT NOT NULL,
    model_id TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (change_id, episode_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX consolidation_vectors_by_episode ON consolidation_vectors (episode_id);

CREATE TABLE consolidation_pending (
    run_id TEXT PRIMARY KEY REFERENCES consolidation_runs (id),
    experience_id TEXT NOT NULL REFERENCES raw_experiences (id),
    asked_at REAL NOT NULL,
    question TEXT NOT NULL,
    answer TEXT NOT NULL CHECK (json_valid(answer))
) STRICT, WITHOUT ROWID;
CREATE INDEX consolidation_pending_by_experience ON consolidation_pending (experience_id);

CREATE TABLE held_experiences (
    experience_id TEXT PRIMARY KEY REFERENCES raw_experiences (id),
    held_at REAL NOT NULL,
    why TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE claims (
    id TEXT PRIMARY KEY,
    subject TEXT NOT NULL,
    relation TEXT NOT NULL,
    value TEXT NOT NULL,
    quote TEXT NOT NULL,
    is_change INTEGER NOT NULL CHECK (is_change IN (0, 1)),
    turn_id TEXT NOT NULL,
    experience_id TEXT NOT NULL REFERENCES raw_experiences (id),
    speaker TEXT NOT NULL,
    said_at REAL NOT NULL,
    found_by TEXT NOT NULL CHECK (found_by IN ('pattern', 'model')),
    origin TEXT NOT NULL CHECK (origin IN ('owner', 'self', 'tool', 'document', 'channel', 'system')),
    tainted INTEGER NOT NULL CHECK (tainted IN (0, 1)),
    checksum BLOB NOT NULL
) STRICT;
CREATE INDEX claims_by_experience ON claims (experience_id);

CREATE TABLE claim_conflicts (
    id TEXT PRIMARY KEY,
    earlier_id TEXT NOT NULL REFERENCES claims (id),
    later_id TEXT NOT NULL REFERENCES claims (id),
    kind TEXT NOT NULL CHECK (kind IN ('update', 'contradiction')),
    reason TEXT NOT NULL,
    found_at REAL NOT NULL,
    settled TEXT NOT NULL DEFAULT '' CHECK (settled IN ('', 'earlier', 'later', 'both')),
    settled_at REAL
) STRICT;
CREATE INDEX claim_conflicts_by_earlier ON claim_conflicts (earlier_id);
CREATE INDEX claim_conflicts_by_later ON claim_conflicts (later_id);
