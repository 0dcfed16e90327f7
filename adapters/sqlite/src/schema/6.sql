-- The event log: one row for each batch with events. The rows follow each other without a gap, from the oldest event that is
-- kept to meta.last_event. Old rows are dropped from the front.
CREATE TABLE event_batches (
    -- The position of the first event of the batch. The others have the next positions.
    first INTEGER PRIMARY KEY CHECK (first >= 1),
    -- The position of its last event.
    last  INTEGER NOT NULL CHECK (last BETWEEN first AND 9007199254740991),
    -- The latest time of its events, in milliseconds since 1970 in UTC.
    at    INTEGER NOT NULL,
    -- The events in the compact form of the program: a format byte and groups of events. Use the program to read them.
    body  BLOB    NOT NULL CHECK (length(body) >= 1)
) STRICT;

-- The epoch of the event log: a random number, as 16 hexadecimal digits. An import and a reset begin a new epoch, and
-- so does the first opening of a copy.
ALTER TABLE meta ADD COLUMN event_epoch TEXT NOT NULL DEFAULT '0000000000000000'
    CHECK (length(event_epoch) = 16 AND event_epoch NOT GLOB '*[^0-9a-f]*');
-- The position of the last event of this epoch. Positions are not used again.
ALTER TABLE meta ADD COLUMN last_event INTEGER NOT NULL DEFAULT 0 CHECK (last_event BETWEEN 0 AND 9007199254740991);
-- The total number of bytes of all bodies.
ALTER TABLE meta ADD COLUMN event_bytes INTEGER NOT NULL DEFAULT 0 CHECK (event_bytes >= 0);
-- The version of the compact form. A program that knows only an older one refuses the file.
ALTER TABLE meta ADD COLUMN event_version INTEGER NOT NULL DEFAULT 0 CHECK (event_version >= 0);
UPDATE meta SET event_epoch = epoch;
