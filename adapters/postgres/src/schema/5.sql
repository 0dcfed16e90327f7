-- Failovers. Everything is added, so older programs go on.

-- The server that the epoch of the shop was decided for: the number of its cluster, and its timeline, which changes with each
-- promotion. No node writes on another server before it is decided whether the epoch stays. Null until the first start.
alter table shop add column server_history text;
-- True if commits waited for a standby when a node looked last.
alter table shop add column is_synchronous boolean not null default false;

-- The server on which the node has found its last acknowledged change.
alter table nodes add column confirmed_history text;
