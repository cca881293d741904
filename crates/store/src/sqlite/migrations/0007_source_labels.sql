-- The label is part of a source's key, as it is of a memory's: a source of the same name at another label is another one.
CREATE TABLE memory_labelled_sources (
    number INTEGER PRIMARY KEY,
    user TEXT NOT NULL,
    chat TEXT NOT NULL,
    source TEXT NOT NULL,
    classification TEXT NOT NULL,
    integrity TEXT NOT NULL,
    saved_ms INTEGER NOT NULL,
    characters INTEGER NOT NULL,
    chunks INTEGER NOT NULL,
    tags TEXT NOT NULL,                  -- JSON
    preview TEXT NOT NULL,
    UNIQUE (user, chat, source, classification, integrity)
) STRICT;
INSERT INTO memory_labelled_sources (number, user, chat, source, classification, integrity, saved_ms, characters, chunks,
    tags, preview)
    SELECT number, user, chat, source, classification, integrity, saved_ms, characters, chunks, tags, preview
    FROM memory_sources;

-- Chunks refer to sources: a table that is referred to cannot be replaced under them.
CREATE TABLE memory_labelled_chunks (
    id BLOB PRIMARY KEY NOT NULL,
    source INTEGER NOT NULL REFERENCES memory_labelled_sources (number),
    ordinal INTEGER NOT NULL,
    text TEXT NOT NULL,
    context TEXT NOT NULL,
    language TEXT NOT NULL,
    first_line INTEGER NOT NULL,
    last_line INTEGER NOT NULL,
    first_character INTEGER NOT NULL,
    end_character INTEGER NOT NULL,
    time_ms INTEGER NOT NULL,
    words_form INTEGER,
    words BLOB,                          -- pairs of a 32-bit number and a 32-bit float, little-endian
    UNIQUE (source, ordinal)
) STRICT;
INSERT INTO memory_labelled_chunks (id, source, ordinal, text, context, language, first_line, last_line, first_character,
    end_character, time_ms, words_form, words)
    SELECT id, source, ordinal, text, context, language, first_line, last_line, first_character, end_character, time_ms,
        words_form, words
    FROM memory_chunks;
DROP TABLE memory_chunks;
DROP TABLE memory_sources;
ALTER TABLE memory_labelled_sources RENAME TO memory_sources;
ALTER TABLE memory_labelled_chunks RENAME TO memory_chunks;

CREATE TABLE memory_labelled_resources (
    user TEXT NOT NULL,
    chat TEXT NOT NULL,
    source TEXT NOT NULL,
    filename TEXT NOT NULL,
    mime_type TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    classification TEXT NOT NULL,
    integrity TEXT NOT NULL,
    state TEXT NOT NULL,                 -- JSON
    summary TEXT,
    created_ms INTEGER NOT NULL,
    changed_ms INTEGER NOT NULL,
    PRIMARY KEY (user, chat, source, classification, integrity)
) STRICT;
INSERT INTO memory_labelled_resources (user, chat, source, filename, mime_type, bytes, classification, integrity, state,
    summary, created_ms, changed_ms)
    SELECT user, chat, source, filename, mime_type, bytes, classification, integrity, state, summary, created_ms,
        changed_ms
    FROM memory_resources;
DROP TABLE memory_resources;
ALTER TABLE memory_labelled_resources RENAME TO memory_resources;
