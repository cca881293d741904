-- The highest level the owner let the session rise to when asked. It only rises.
ALTER TABLE sessions ADD COLUMN acknowledged TEXT NOT NULL DEFAULT 'PUBLIC';

-- Requests for the owner's approval of a call. Rows are never deleted.
CREATE TABLE approvals (
    position INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    session INTEGER NOT NULL REFERENCES sessions (number),
    turn TEXT NOT NULL,
    call TEXT NOT NULL,
    digest BLOB NOT NULL,                -- SHA-256 of what the call is, resolved
    classification TEXT NOT NULL,
    integrity TEXT NOT NULL,
    shown TEXT NOT NULL,                 -- JSON for the owner; empty once it is erased
    state TEXT NOT NULL,                 -- waiting | granted | refused | used | expired
    created_ms INTEGER NOT NULL,
    decided_ms INTEGER,
    expires_ms INTEGER NOT NULL,         -- from then on, waiting and granted count as expired
    UNIQUE (session, call, digest)
) STRICT;
