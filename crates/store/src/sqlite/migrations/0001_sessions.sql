-- What the store says about itself.
CREATE TABLE meta (
    name TEXT PRIMARY KEY NOT NULL,
    value ANY
) STRICT, WITHOUT ROWID;

-- Keys the hashes that stand in for erased texts, so that equal texts stay recognisable as equal here alone.
INSERT INTO meta (name, value) VALUES ('hash_key', randomblob(32));

-- One row a session: what changes with nearly every commit. Rows are never deleted.
CREATE TABLE sessions (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT UNIQUE,
    user TEXT NOT NULL,
    state TEXT NOT NULL,                 -- idle | in_turn | erased
    turn TEXT,                           -- of in_turn
    turns INTEGER NOT NULL,
    model_policy TEXT NOT NULL,
    clearance TEXT NOT NULL,
    taint TEXT NOT NULL,                 -- JSON
    title TEXT,                          -- none until a person wrote something
    usage TEXT NOT NULL,                 -- JSON
    entries INTEGER NOT NULL,            -- the number of the last entry
    events INTEGER NOT NULL,             -- the number of the last event
    created_ms INTEGER NOT NULL,
    changed_ms INTEGER NOT NULL
) STRICT;

-- What is large and hardly ever changes: apart, so that a commit does not write it again.
CREATE TABLE setups (
    session INTEGER PRIMARY KEY NOT NULL REFERENCES sessions (number),
    workspace ANY NOT NULL,              -- text, or the bytes of a name that is not Unicode
    system_prompt TEXT NOT NULL,
    tools TEXT NOT NULL                  -- JSON
) STRICT;

CREATE TABLE entries (
    session INTEGER NOT NULL REFERENCES sessions (number),
    seq INTEGER NOT NULL,
    turn TEXT NOT NULL,
    classification TEXT NOT NULL,
    integrity TEXT NOT NULL,
    role TEXT NOT NULL,                  -- user | assistant | results
    body TEXT NOT NULL,                  -- JSON of the message; what the provider sent is in it, byte for byte
    PRIMARY KEY (session, seq)
) STRICT;

CREATE TABLE checkpoints (
    session INTEGER PRIMARY KEY NOT NULL REFERENCES sessions (number),
    turn TEXT NOT NULL,
    version INTEGER NOT NULL,
    data BLOB NOT NULL
) STRICT;

-- The journal of tool calls.
CREATE TABLE calls (
    position INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions (number),
    turn TEXT NOT NULL,
    call TEXT NOT NULL,
    tool TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    result TEXT,                         -- JSON; none while it is not known
    UNIQUE (session, call)
) STRICT;

CREATE TABLE sources (
    position INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions (number),
    id TEXT NOT NULL,
    classification TEXT NOT NULL,
    integrity TEXT NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (session, id)
) STRICT;

-- Rows are never deleted, so positions only grow.
CREATE TABLE events (
    position INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions (number),
    sequence INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    turn TEXT,
    classification TEXT NOT NULL,
    integrity TEXT NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,                  -- JSON
    UNIQUE (session, sequence)
) STRICT;

CREATE TABLE file_labels (
    path TEXT PRIMARY KEY NOT NULL,
    hash BLOB NOT NULL,                  -- SHA-256 of the content
    classification TEXT NOT NULL,
    integrity TEXT NOT NULL
) STRICT;
