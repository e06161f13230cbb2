-- From schema 8 to 9.

-- conversations:
-- Which of the conversations side by side it belongs to; the plain chat is one of them.
ALTER TABLE conversations ADD COLUMN channel TEXT NOT NULL DEFAULT 'chat';
