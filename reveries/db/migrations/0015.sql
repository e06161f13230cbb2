-- From schema 14 to 15: a document may be read page by page from a file that the home keeps. Its pages, the places of what a
-- project knows of them, and what a reply cited are rows.

ALTER TABLE documents ADD COLUMN original TEXT NOT NULL DEFAULT '';
ALTER TABLE documents ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
ALTER TABLE documents ADD COLUMN reading TEXT NOT NULL DEFAULT 'complete'
    CHECK (reading IN ('pending', 'processing', 'complete', 'failed'));
ALTER TABLE documents ADD COLUMN failure TEXT NOT NULL DEFAULT ''
    CHECK (failure IN (
        '', 'missing', 'encrypted', 'empty', 'truncated', 'damaged', 'wrong_suffix', 'unknown_format', 'too_large',
        'too_many_pages', 'no_page', 'too_slow', 'crashed', 'cannot_recognise'
    ));
ALTER TABLE documents ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE documents ADD COLUMN page_count INTEGER NOT NULL DEFAULT 0;
CREATE INDEX documents_to_read ON documents (reading) WHERE reading IN ('pending', 'processing');

CREATE TABLE pages (                 -- of documents that are read page by page: pages, sheets, slides
    id TEXT PRIMARY KEY,
    document_id TEXT NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    version INTEGER NOT NULL,              -- of the file that it was read from
    number INTEGER NOT NULL,               -- in the file, from 1
    label TEXT NOT NULL DEFAULT '',        -- what is printed on it: "iv", "A2.01"
    section TEXT NOT NULL DEFAULT '',      -- the part of the document that it belongs to
    kind TEXT NOT NULL DEFAULT '',
    width REAL NOT NULL,                   -- in points, as it is shown
    height REAL NOT NULL,
    rotation INTEGER NOT NULL DEFAULT 0,
    text TEXT NOT NULL,                    -- verbatim: quotes are checked against it
    text_from TEXT NOT NULL CHECK (text_from IN ('layer', 'ocr', 'none')),
    recognition TEXT NOT NULL DEFAULT 'none'   -- of its picture, whose words its text may lack
        CHECK (recognition IN ('none', 'pending', 'complete', 'failed')),
    outline TEXT NOT NULL DEFAULT '',      -- what stands on it, in a few lines
    cross_references TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(cross_references)),
    checksum BLOB NOT NULL,
    UNIQUE (document_id, version, number)
) STRICT;
CREATE INDEX pages_to_recognise ON pages (recognition) WHERE recognition = 'pending';

CREATE TABLE pointers (              -- chunks that have a place on a page
    chunk_id TEXT PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
    page_id TEXT REFERENCES pages (id) ON DELETE SET NULL,              -- where it begins; null: no page has it now
    position INTEGER NOT NULL,             -- on that page, from 1
    kind TEXT NOT NULL,
    title TEXT NOT NULL DEFAULT '',        -- its own, without where it stands
    cross_references TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(cross_references))
) STRICT;
CREATE INDEX pointers_by_page ON pointers (page_id, position);

CREATE TABLE pointer_boxes (         -- in parts of a page's width and height, from its top left; some go on overleaf
    pointer_id TEXT NOT NULL REFERENCES pointers (chunk_id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    page_number INTEGER NOT NULL,          -- in the document of its pointer
    x REAL NOT NULL CHECK (x BETWEEN 0 AND 1),
    y REAL NOT NULL CHECK (y BETWEEN 0 AND 1),
    width REAL NOT NULL CHECK (width BETWEEN 0 AND 1),
    height REAL NOT NULL CHECK (height BETWEEN 0 AND 1),
    PRIMARY KEY (pointer_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE citations (             -- what a reply rests on, as it was shown
    turn_id TEXT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    pointer_id TEXT REFERENCES chunks (id) ON DELETE CASCADE,           -- null: it was not offered
    short_id TEXT NOT NULL,                -- by which it was offered: d3.p12.b2
    state TEXT NOT NULL CHECK (state IN ('on_page', 'not_on_page', 'not_offered', 'not_in_documents')),
    made_by TEXT NOT NULL CHECK (made_by IN ('model', 'rules')),
    document TEXT NOT NULL,                -- its name then
    page_number INTEGER NOT NULL,
    page_label TEXT NOT NULL,
    quote TEXT NOT NULL,
    boxes TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(boxes)),
    PRIMARY KEY (turn_id, position)
) STRICT;
CREATE INDEX citations_by_pointer ON citations (pointer_id);

-- Where some text of a page is erased or changed by `forget`, the file that still has it is not kept either.
CREATE TRIGGER pages_without_their_text AFTER UPDATE OF text ON pages WHEN new.text <> old.text
BEGIN
    UPDATE documents SET original = '' WHERE id = old.document_id;
END;

DROP TRIGGER documents_without_their_text;
CREATE TRIGGER documents_without_their_text AFTER DELETE ON chunks WHEN old.document_id IS NOT NULL
BEGIN
    UPDATE documents SET sha256 = '', original = '' WHERE id = old.document_id;
END;

-- Who checked a task, and which page the owner went back to: until then, code read them out of the sentences beside them.

ALTER TABLE tasks ADD COLUMN audited_by TEXT NOT NULL DEFAULT '' CHECK (audited_by IN ('', 'audit', 'owner', 'program'));
ALTER TABLE orientation ADD COLUMN reverted_to INTEGER;
