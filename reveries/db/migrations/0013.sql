-- From schema 12 to 13: statements of the self-model have a day, a thread can be closed, and a fact can end.

ALTER TABLE self_model ADD COLUMN closed_threads TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(closed_threads));
ALTER TABLE self_model ADD COLUMN past_facts TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(past_facts));
ALTER TABLE self_model ADD COLUMN days TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(days));
