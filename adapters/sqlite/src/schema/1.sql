-- The tables of a petstore's journal. Any SQLite tool can read them while the petstore runs. The petstore does not notice
-- changes that another program makes meanwhile.
--
-- CHECKs repeat the rules for a single row that the program enforces. Times are RFC 3339 in UTC with milliseconds: 24
-- characters that sort as text in the order of time. Words are compared with OR, because SQLite builds a temporary table for
-- an IN at each row that is written.

-- The properties of the whole file, in one row.
CREATE TABLE meta (
    id            INTEGER PRIMARY KEY CHECK (id = 1),
    -- A random number, as 16 hexadecimal digits: entity tags and cursors are valid for this epoch only. Zero in a copy that
    -- has not been opened yet.
    epoch         TEXT    NOT NULL CHECK (length(epoch) = 16 AND epoch NOT GLOB '*[^0-9a-f]*'),
    -- The number of the last committed batch.
    last_batch    INTEGER NOT NULL CHECK (last_batch >= 0),
    -- The last id of each kind. The ids of deleted records are not used again.
    last_pet      INTEGER NOT NULL CHECK (last_pet BETWEEN 0 AND 9007199254740991),
    last_category INTEGER NOT NULL CHECK (last_category BETWEEN 0 AND 9007199254740991),
    last_order    INTEGER NOT NULL CHECK (last_order BETWEEN 0 AND 9007199254740991),
    last_account  INTEGER NOT NULL CHECK (last_account BETWEEN 0 AND 9007199254740991),
    last_key      INTEGER NOT NULL CHECK (last_key BETWEEN 0 AND 9007199254740991)
) STRICT;

CREATE TABLE categories (
    id          INTEGER PRIMARY KEY CHECK (id BETWEEN 1 AND 9007199254740991),
    name        TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    -- The folded name, which is unique.
    folded_name TEXT    NOT NULL UNIQUE,
    description TEXT    CHECK (length(description) <= 1000),
    version     INTEGER NOT NULL CHECK (version >= 1),
    -- The number of pets in the category.
    pets        INTEGER NOT NULL CHECK (pets >= 0)
) STRICT;

CREATE TABLE pets (
    id           INTEGER PRIMARY KEY CHECK (id BETWEEN 1 AND 9007199254740991),
    name         TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    -- Checked at the commit, because one batch may empty a category and delete it, in any order.
    category_id  INTEGER NOT NULL REFERENCES categories (id) DEFERRABLE INITIALLY DEFERRED,
    status       TEXT    NOT NULL CHECK (status = 'available' OR status = 'pending' OR status = 'sold'),
    version      INTEGER NOT NULL CHECK (version >= 1),
    -- Free units, without those in open orders.
    stock        INTEGER NOT NULL CHECK (stock >= 0),
    -- The version of the pet's inventory item.
    item_version INTEGER NOT NULL CHECK (item_version >= 1),
    -- The number of incomplete orders for the pet.
    open_orders  INTEGER NOT NULL CHECK (open_orders BETWEEN 0 AND 4294967295),
    CONSTRAINT available_means_in_stock CHECK (status <> 'available' OR stock > 0),
    CONSTRAINT sold_means_nothing_left CHECK (status <> 'sold' OR (stock = 0 AND open_orders = 0)),
    CONSTRAINT pending_means_held CHECK (status <> 'pending' OR stock > 0 OR open_orders > 0)
) STRICT;

-- The deletion of a category uses this index to find pets that refer to the category.
CREATE INDEX pets_by_category ON pets (category_id);

CREATE TABLE orders (
    id        INTEGER PRIMARY KEY CHECK (id BETWEEN 1 AND 9007199254740991),
    -- No foreign key, because a complete order outlives its pet.
    pet_id    INTEGER NOT NULL CHECK (pet_id BETWEEN 1 AND 9007199254740991),
    quantity  INTEGER NOT NULL CHECK (quantity BETWEEN 1 AND 10000),
    ship_date TEXT    CHECK (length(ship_date) = 24),
    complete  INTEGER NOT NULL CHECK (complete IN (0, 1)),
    version   INTEGER NOT NULL CHECK (version >= 1)
) STRICT;

CREATE TABLE accounts (
    id           INTEGER PRIMARY KEY CHECK (id BETWEEN 1 AND 9007199254740991),
    name         TEXT    NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 100),
    plan         TEXT    NOT NULL CHECK (
        plan = 'free' OR plan = 'pro' OR plan = 'business' OR plan = 'enterprise'
    ),
    -- Requests per minute and per day, for the plan enterprise only. Other limits come from the configuration.
    minute_limit INTEGER CHECK (minute_limit BETWEEN 1 AND 2147483647),
    day_limit    INTEGER CHECK (day_limit BETWEEN 1 AND 2147483647),
    created_at   TEXT    NOT NULL CHECK (length(created_at) = 24),
    CONSTRAINT limits_of_an_enterprise_alone CHECK (
        (plan = 'enterprise') = (minute_limit IS NOT NULL) AND (plan = 'enterprise') = (day_limit IS NOT NULL)
    )
) STRICT;

CREATE TABLE keys (
    id            INTEGER PRIMARY KEY CHECK (id BETWEEN 1 AND 9007199254740991),
    account_id    INTEGER NOT NULL REFERENCES accounts (id) DEFERRABLE INITIALLY DEFERRED,
    -- SHA-256 of the secret, which is not stored.
    digest        BLOB    NOT NULL UNIQUE CHECK (length(digest) = 32),
    -- The first characters of the secret, to identify the key.
    prefix        TEXT    NOT NULL CHECK (length(prefix) = 12),
    label         TEXT    NOT NULL CHECK (length(label) <= 100),
    scopes        TEXT    NOT NULL CHECK (scopes = 'read' OR scopes = 'write' OR scopes = 'read,write'),
    created_at    TEXT    NOT NULL CHECK (length(created_at) = 24),
    expires_at    TEXT    CHECK (length(expires_at) = 24),
    revoked_at    TEXT    CHECK (length(revoked_at) = 24),
    -- The last ban, in force or over, and its length.
    ban_since     TEXT    CHECK (length(ban_since) = 24),
    ban_until     TEXT    CHECK (length(ban_until) = 24),
    ban_length_ms INTEGER CHECK (ban_length_ms >= 0),
    CONSTRAINT a_ban_is_whole CHECK (
        (ban_since IS NULL) = (ban_until IS NULL) AND (ban_since IS NULL) = (ban_length_ms IS NULL)
    )
) STRICT;

-- Idempotency records: the outcomes of requests with an Idempotency-Key, for repeated requests.
CREATE TABLE retries (
    id              INTEGER PRIMARY KEY,
    account_id      INTEGER NOT NULL CHECK (account_id BETWEEN 1 AND 9007199254740991),
    -- The kind of request: create_pet, create_category, place_order, or adjust_stock: followed by the id of the pet.
    scope           TEXT    NOT NULL,
    idempotency_key TEXT    NOT NULL CHECK (length(idempotency_key) BETWEEN 1 AND 255),
    -- SHA-256 of the request body.
    fingerprint     BLOB    NOT NULL CHECK (length(fingerprint) = 32),
    outcome         TEXT    NOT NULL CHECK (json_valid(outcome)),
    expires_at      TEXT    NOT NULL CHECK (length(expires_at) = 24),
    UNIQUE (account_id, scope, idempotency_key)
) STRICT;

CREATE INDEX retries_by_expiry ON retries (expires_at);

-- The requests that an account has used of its windows, as last recorded. Windows are numbered from 1970, in UTC.
CREATE TABLE usage (
    account_id    INTEGER PRIMARY KEY CHECK (account_id BETWEEN 1 AND 9007199254740991),
    minute_number INTEGER NOT NULL CHECK (minute_number BETWEEN 0 AND 4294967295),
    minute_used   INTEGER NOT NULL CHECK (minute_used BETWEEN 0 AND 4294967295),
    day_number    INTEGER NOT NULL CHECK (day_number BETWEEN 0 AND 4294967295),
    day_used      INTEGER NOT NULL CHECK (day_used BETWEEN 0 AND 4294967295)
) STRICT;
