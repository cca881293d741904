-- What may be writing files at this moment, or was when its program was killed.
CREATE TABLE pending_writes (
    id TEXT PRIMARY KEY NOT NULL,
    since_ms INTEGER NOT NULL,
    classification TEXT NOT NULL,
    integrity TEXT NOT NULL,
    places TEXT NOT NULL                 -- JSON: paths, and whether they can be written
) STRICT;
