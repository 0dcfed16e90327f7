-- The tables of a petstore. Any client can read them while nodes run. If another program changes a row, the caches of a
-- node may not notice the change for a second.
--
-- The program enforces all rules; CHECKs repeat those for a single row. Texts are compared by code point, whatever the
-- database's locale is, and the program computes folded names.

-- The version of the tables, in one row.
create table schema_version (
    one           boolean primary key default true check (one),
    -- The number of migrations.
    version       integer not null check (version >= 1),
    -- The oldest program that may use the tables. Programs are compared by the number of migrations that they know.
    oldest_reader integer not null check (oldest_reader between 1 and version),
    -- The version of the rule that folds names.
    folding       integer not null check (folding >= 0),
    -- The newest form of the events.
    event_form    integer not null check (event_form >= 1)
);

-- The properties of the whole shop, in one row.
create table shop (
    one        boolean primary key default true check (one),
    -- A random number, as 16 hexadecimal digits: entity tags and cursors are valid for this epoch only.
    epoch      text    not null check (epoch ~ '^[0-9a-f]{16}$'),
    -- True if servers with --sandbox may reset the shop and turn its clock. Set when the schema is created, and removed by the
    -- first server without --sandbox.
    is_sandbox boolean not null
);

-- A table without rows, used only as a lock. Each transaction that changes the shop first locks it in row share mode.
-- An import or a reset locks it exclusively, so that no such transaction runs at the same time.
create table shop_lock ();

create table categories (
    id          bigint primary key check (id between 1 and 9007199254740991),
    name        text   not null check (char_length(name) between 1 and 100),
    folded_name text   not null collate "C",
    description text   check (char_length(description) <= 1000),
    version     bigint not null check (version >= 1),
    -- The number of pets in the category.
    pets        bigint not null check (pets >= 0),
    constraint categories_folded_name_key unique (folded_name)
) with (fillfactor = 70);

create table pets (
    id           bigint primary key check (id between 1 and 9007199254740991),
    name         text   not null check (char_length(name) between 1 and 100),
    folded_name  text   not null collate "C",
    category_id  bigint not null references categories (id),
    status       text   not null collate "C" check (status in ('available', 'pending', 'sold')),
    version      bigint not null check (version >= 1),
    -- Free units, without those in open orders.
    stock        bigint not null check (stock >= 0),
    -- The version of the pet's inventory item.
    item_version bigint not null check (item_version >= 1),
    -- The number of incomplete orders for the pet.
    open_orders  bigint not null check (open_orders between 0 and 4294967295),
    constraint available_means_in_stock check (status <> 'available' or stock > 0),
    constraint sold_means_nothing_left check (status <> 'sold' or (stock = 0 and open_orders = 0)),
    constraint pending_means_held check (status <> 'pending' or stock > 0 or open_orders > 0)
) with (fillfactor = 70);

-- Each filter of a listing has an index. For each combination of the filter's values, the entries of the index are
-- sorted by id, so a page costs the same however rare its pets are. A filter without a status is read as one branch for
-- each status.
--
-- No index contains stock, version, item_version or open_orders. So an order, which changes only these, writes no index
-- entry, and the new version of the pet stays in the same page if there is room.
create index pets_by_status on pets (status, id);
create index pets_by_category on pets (category_id, status, id);
create index pets_by_name on pets (folded_name, status, id);
create index pets_by_category_and_name on pets (category_id, folded_name, status, id);

create table orders (
    id        bigint  primary key check (id between 1 and 9007199254740991),
    -- No foreign key, because a completed order may outlive its pet.
    pet_id    bigint  not null check (pet_id between 1 and 9007199254740991),
    quantity  integer not null check (quantity between 1 and 10000),
    ship_date timestamptz,
    complete  boolean not null,
    version   bigint  not null check (version >= 1)
) with (fillfactor = 90);

-- For each combination of a filter's values, the entries are sorted by id, as in the indexes of pets.
create index orders_by_complete on orders (complete, id);
create index orders_by_pet on orders (pet_id, complete, id);

create table accounts (
    id           bigint primary key check (id between 1 and 9007199254740991),
    name         text   not null check (char_length(name) between 1 and 100),
    folded_name  text   not null collate "C",
    plan         text   not null check (plan in ('free', 'pro', 'business', 'enterprise')),
    -- Requests per minute and per day, for the plan enterprise only. Other limits come from the configuration.
    minute_limit bigint check (minute_limit between 1 and 2147483647),
    day_limit    bigint check (day_limit between 1 and 2147483647),
    created_at   timestamptz not null,
    constraint accounts_folded_name_key unique (folded_name),
    constraint limits_of_an_enterprise_alone check (
        (plan = 'enterprise') = (minute_limit is not null) and (plan = 'enterprise') = (day_limit is not null)
    )
);

create table keys (
    id             bigint primary key check (id between 1 and 9007199254740991),
    account_id     bigint not null references accounts (id),
    -- SHA-256 of the secret, which is not stored.
    digest         bytea  not null check (octet_length(digest) = 32),
    -- The first characters of the secret, to identify the key.
    prefix         text   not null check (char_length(prefix) = 12),
    label          text   not null check (char_length(label) <= 100),
    scopes         text   not null check (scopes in ('read', 'write', 'read,write')),
    created_at     timestamptz not null,
    expires_at     timestamptz,
    -- The end of the overlap with the successor of a rotated key.
    replaced_until timestamptz,
    revoked_at     timestamptz,
    -- The last ban, in force or over, and its length.
    ban_since      timestamptz,
    ban_until      timestamptz,
    ban_length_ms  bigint check (ban_length_ms >= 0),
    -- The last time that an operator lifted a ban.
    ban_lifted_at  timestamptz,
    constraint keys_digest_key unique (digest),
    constraint a_ban_is_whole check (
        (ban_since is null) = (ban_until is null) and (ban_since is null) = (ban_length_ms is null)
    )
);

create index keys_by_account on keys (account_id, id);

-- Raised by each change of an account or a key, in its transaction. Nodes poll it and drop their cached keys.
create table key_changes (
    one    boolean primary key default true check (one),
    number bigint  not null check (number >= 0)
);

-- The outcomes of requests with an Idempotency-Key. A repeated request gets the stored outcome.
create table idempotency_records (
    account_id      bigint not null check (account_id between 1 and 9007199254740991),
    -- The kind of request: create_pet, create_category, place_order, or adjust_stock: followed by the id of the pet.
    scope           text   not null collate "C",
    idempotency_key text   not null collate "C" check (char_length(idempotency_key) between 1 and 255),
    -- SHA-256 of the request body.
    fingerprint     bytea  not null check (octet_length(fingerprint) = 32),
    outcome         jsonb  not null,
    expires_at      timestamptz not null,
    primary key (account_id, scope, idempotency_key)
);

create index idempotency_records_by_expiry on idempotency_records (expires_at);

-- The number of idempotency records of an account is the sum over its rows. Each node draws a slot at its start and
-- changes only rows with that slot, so that nodes with different slots do not wait for each other.
create table idempotency_counts (
    account_id bigint   not null,
    slot       smallint not null check (slot between 0 and 15),
    records    bigint   not null,
    primary key (account_id, slot)
) with (fillfactor = 50);

create sequence event_seqs as bigint cache 1;

-- The events of one commit, in the compact form of the program. The form does not contain their positions, which are
-- given later in the order of `seq` (see event_log).
create table event_batches (
    -- Drawn while the commit holds the locks of all records that it changes. The default makes sure that the
    -- transaction has its id before it draws. So a transaction that gets its id after a `seq` was seen can commit only
    -- higher ones (see settled_seq).
    seq       bigint  primary key
              default (case when pg_current_xact_id() is not null then nextval('event_seqs') end),
    -- The number of events.
    events    integer not null check (events >= 1),
    -- The times of the earliest and the latest event.
    first_at  timestamptz not null,
    latest_at timestamptz not null,
    body      bytea   not null,
    -- The position of the last event; null until it is given.
    last_position bigint check (last_position between 1 and 9007199254740991)
);

-- Bodies are compact, and compressing them costs more than it saves.
alter table event_batches alter column body set storage external;

create unique index event_batches_by_position on event_batches (last_position);
create index event_batches_without_position on event_batches (seq) where last_position is null;

-- The event log: one row. A transaction that locks it gives positions to the batches that are committed and have none.
create table event_log (
    one             boolean primary key default true check (one),
    -- A random number, as 16 hexadecimal digits. Ids of events are valid for this epoch only.
    epoch           text    not null check (epoch ~ '^[0-9a-f]{16}$'),
    -- The number of the epoch: 1 for the first one, and 1 more for each later one.
    epoch_number    bigint  not null default 1 check (epoch_number >= 1),
    -- The last position that was given.
    last_position   bigint  not null default 0 check (last_position >= 0),
    -- The position before the oldest event that is kept.
    pruned_position bigint  not null default 0 check (pruned_position >= 0),
    -- The bytes of the bodies that have positions.
    bytes           bigint  not null default 0 check (bytes >= 0),
    -- No batch with this `seq` or a lower one is without a position, and no such batch will appear. The search for
    -- batches without positions begins behind it. Otherwise, while old row versions cannot be removed, it would read
    -- all of them.
    settled_seq     bigint  not null default 0 check (settled_seq >= 0)
) with (fillfactor = 10);

-- One row for each commit of the last minutes. A node that lost its connection during a commit inserts the token of the
-- commit itself. If the commit has taken place, the node finds its row. Otherwise the node's own row keeps the commit
-- from taking place later.
create table commits (
    token     bytea primary key check (octet_length(token) = 16),
    -- True in a row that was inserted in place of a commit.
    is_undone boolean     not null default false,
    at        timestamptz not null default clock_timestamp()
);

create index commits_by_time on commits (at);

create sequence pet_ids      as bigint maxvalue 9007199254740991 cache 1;
create sequence category_ids as bigint maxvalue 9007199254740991 cache 1;
create sequence order_ids    as bigint maxvalue 9007199254740991 cache 1;
create sequence account_ids  as bigint maxvalue 9007199254740991 cache 1;
create sequence key_ids      as bigint maxvalue 9007199254740991 cache 1;
