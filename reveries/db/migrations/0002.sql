-- What the live graph is made of changes: then a snapshot of it is stale (memory/snapshot.py).
CREATE TABLE IF NOT EXISTS graph_stamp (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    value BLOB NOT NULL
) STRICT;
INSERT INTO graph_stamp (id, value) VALUES (1, randomblob(16)) ON CONFLICT DO NOTHING;
CREATE TRIGGER IF NOT EXISTS episodes_insert_stamps AFTER INSERT ON episodes
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER IF NOT EXISTS episodes_update_stamps AFTER UPDATE ON episodes
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER IF NOT EXISTS episodes_delete_stamps AFTER DELETE ON episodes
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER IF NOT EXISTS episode_sources_insert_stamps AFTER INSERT ON episode_sources
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER IF NOT EXISTS episode_sources_update_stamps AFTER UPDATE ON episode_sources
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER IF NOT EXISTS episode_sources_delete_stamps AFTER DELETE ON episode_sources
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER IF NOT EXISTS episode_links_insert_stamps AFTER INSERT ON episode_links
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER IF NOT EXISTS episode_links_update_stamps AFTER UPDATE ON episode_links
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER IF NOT EXISTS episode_links_delete_stamps AFTER DELETE ON episode_links
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER IF NOT EXISTS vectors_insert_stamps AFTER INSERT ON vectors WHEN new.owner_kind = 'episode'
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER IF NOT EXISTS vectors_update_stamps AFTER UPDATE ON vectors WHEN new.owner_kind = 'episode'
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER IF NOT EXISTS vectors_delete_stamps AFTER DELETE ON vectors WHEN old.owner_kind = 'episode'
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
