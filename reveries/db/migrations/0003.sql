-- From schema 2 (part two) to 3.

-- graph: a random value, another one after every change to what the live memory is made of, whoever makes it: a snapshot
-- that holds another value is stale (memory/snapshot.py).
CREATE TABLE graph_stamp (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    value BLOB NOT NULL
) STRICT;
INSERT INTO graph_stamp (id, value) VALUES (1, randomblob(16));
CREATE TRIGGER episodes_insert_stamps AFTER INSERT ON episodes
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER episodes_update_stamps AFTER UPDATE ON episodes
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER episodes_delete_stamps AFTER DELETE ON episodes
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER episode_sources_insert_stamps AFTER INSERT ON episode_sources
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER episode_sources_update_stamps AFTER UPDATE ON episode_sources
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER episode_sources_delete_stamps AFTER DELETE ON episode_sources
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER episode_links_insert_stamps AFTER INSERT ON episode_links
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER episode_links_update_stamps AFTER UPDATE ON episode_links
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER episode_links_delete_stamps AFTER DELETE ON episode_links
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER vectors_insert_stamps AFTER INSERT ON vectors
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER vectors_update_stamps AFTER UPDATE ON vectors
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER vectors_delete_stamps AFTER DELETE ON vectors
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER turns_update_stamps
AFTER UPDATE OF conversation_id, position, origin, speaker, text, said_at ON turns
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER turns_delete_stamps AFTER DELETE ON turns
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER raw_experiences_update_stamps AFTER UPDATE OF happened_at, content, origin ON raw_experiences
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
CREATE TRIGGER raw_experiences_delete_stamps AFTER DELETE ON raw_experiences
BEGIN UPDATE graph_stamp SET value = randomblob(16) WHERE id = 1; END;
