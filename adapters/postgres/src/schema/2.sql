-- The nodes that share the shop. Each one renews its row every second, and removes it when it stops. Times are those of the
-- database server, so the clock of a node does not matter. A node whose row was not renewed for 30 s counts as gone.
create table nodes (
    -- A random number, drawn at each start of a node, as 16 hexadecimal digits.
    id         text        primary key check (id ~ '^[0-9a-f]{16}$'),
    -- The release.
    version    text        not null check (char_length(version) <= 100),
    -- The newest form of events that the node knows. The form in force (schema_version.event_form) rises once every node
    -- knows the next one. Programs that know only step 1 have no row here; none of them was released.
    event_form integer     not null check (event_form >= 1),
    -- The name of the machine, and the address at which the node serves.
    host       text        not null check (char_length(host) <= 255),
    address    text        not null check (char_length(address) <= 255),
    started_at timestamptz not null,
    seen_at    timestamptz not null,
    -- The settings that should be the same on all nodes, each as `name=value`.
    settings   text[]      not null
) with (fillfactor = 50);
