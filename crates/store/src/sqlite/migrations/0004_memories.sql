-- The journal of memories and chunks: the last change of each, also of those that were deleted.
CREATE TABLE memory_journal (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    collection INTEGER NOT NULL,         -- 0: meta_artifacts, 1: session_rag
    id BLOB NOT NULL,                    -- 16 bytes
    UNIQUE (collection, id)
) STRICT;

CREATE TABLE memories (
    id BLOB PRIMARY KEY NOT NULL,
    user TEXT NOT NULL,
    chat TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    classification TEXT NOT NULL,
    integrity TEXT NOT NULL,
    artifact_name TEXT NOT NULL,
    fact TEXT NOT NULL,
    importance INTEGER NOT NULL,
    tags TEXT NOT NULL,                  -- JSON
    language TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    provenance TEXT NOT NULL,            -- JSON
    supersedes TEXT NOT NULL,            -- JSON
    state TEXT NOT NULL,                 -- JSON
    version INTEGER NOT NULL
) STRICT;
CREATE INDEX memories_by_name ON memories (user, memory_id);

-- What memories said before.
CREATE TABLE memory_versions (
    memory BLOB NOT NULL,
    version INTEGER NOT NULL,
    artifact_name TEXT NOT NULL,
    fact TEXT NOT NULL,
    importance INTEGER NOT NULL,
    tags TEXT NOT NULL,                  -- JSON
    updated_ms INTEGER NOT NULL,
    provenance TEXT NOT NULL,            -- JSON
    PRIMARY KEY (memory, version)
) STRICT;

CREATE TABLE memory_sources (
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
    UNIQUE (user, chat, source)
) STRICT;

CREATE TABLE memory_chunks (
    id BLOB PRIMARY KEY NOT NULL,
    source INTEGER NOT NULL REFERENCES memory_sources (number),
    ordinal INTEGER NOT NULL,
    text TEXT NOT NULL,
    context TEXT NOT NULL,
    language TEXT NOT NULL,
    first_line INTEGER NOT NULL,
    last_line INTEGER NOT NULL,
    first_character INTEGER NOT NULL,
    end_character INTEGER NOT NULL,
    time_ms INTEGER NOT NULL,
    UNIQUE (source, ordinal)
) STRICT;

-- Vectors of the model that is in use, and those of another that are being made.
CREATE TABLE memory_vectors (
    collection INTEGER NOT NULL,
    id BLOB NOT NULL,
    model TEXT NOT NULL,
    dense BLOB NOT NULL,                 -- 32-bit floats, little-endian
    sparse BLOB,                         -- pairs of a 32-bit index and a 32-bit float, little-endian
    PRIMARY KEY (collection, id, model)
) STRICT;

-- The registry of what was given to sessions.
CREATE TABLE memory_resources (
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
    PRIMARY KEY (user, chat, source)
) STRICT;

-- The model in use, one row, and numbers by name.
CREATE TABLE memory_model (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    id TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    prefixes TEXT NOT NULL
) STRICT;
CREATE TABLE memory_marks (
    name TEXT PRIMARY KEY NOT NULL,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
