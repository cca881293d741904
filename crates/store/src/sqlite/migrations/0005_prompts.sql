-- Notes for the next turn of a session, each delivered once.
CREATE TABLE notes (
    position INTEGER PRIMARY KEY AUTOINCREMENT,  -- never given twice
    session INTEGER NOT NULL REFERENCES sessions (number),
    left_ms INTEGER NOT NULL,
    classification TEXT NOT NULL,
    integrity TEXT NOT NULL,
    body TEXT NOT NULL                   -- what it says, as whoever left it wrote it
) STRICT;
CREATE INDEX notes_of_session ON notes (session);

-- What a conversation goes on with after it was compacted. The entries themselves stay.
CREATE TABLE segments (
    session INTEGER NOT NULL REFERENCES sessions (number),
    number INTEGER NOT NULL,             -- from 2; the first is the conversation as it was said
    turn TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    through INTEGER NOT NULL,            -- the number of the last entry at that time
    entries TEXT NOT NULL,               -- JSON: numbers of the entries it begins with, in their order
    messages_before INTEGER NOT NULL,
    messages_after INTEGER NOT NULL,
    tokens_before INTEGER NOT NULL,
    tokens_after INTEGER NOT NULL,
    PRIMARY KEY (session, number)
) STRICT;

-- How long compaction rests after it failed.
CREATE TABLE compaction_rests (
    session INTEGER PRIMARY KEY NOT NULL REFERENCES sessions (number),
    failures INTEGER NOT NULL,
    failed_ms INTEGER NOT NULL
) STRICT;

-- The words of messages, of sessions that were searched: split and folded before they come here. Up to which entry
-- of each is in a table of its own.
CREATE VIRTUAL TABLE message_words USING fts5 (words, session UNINDEXED, seq UNINDEXED, tokenize = 'ascii');
-- Nothing of what is deleted may stay in the index.
INSERT INTO message_words (message_words, rank) VALUES ('secure-delete', 1);
CREATE TABLE indexed_messages (
    session INTEGER PRIMARY KEY NOT NULL REFERENCES sessions (number),
    through INTEGER NOT NULL
) STRICT;
