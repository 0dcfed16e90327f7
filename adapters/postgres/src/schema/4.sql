-- The clocks of the nodes are compared. Everything is added, so older programs go on.

-- The milliseconds by which the clock of the node's machine was ahead of the database's when the row was last renewed; null
-- for an older release.
alter table nodes add column clock_ahead_ms bigint;
