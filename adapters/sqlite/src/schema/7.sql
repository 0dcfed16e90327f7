-- Keys may have the scope webhooks. SQLite cannot change a CHECK, so the table is made again.
CREATE TABLE keys_with_webhooks (
    id             INTEGER PRIMARY KEY CHECK (id BETWEEN 1 AND 9007199254740991),
    account_id     INTEGER NOT NULL REFERENCES accounts (id) DEFERRABLE INITIALLY DEFERRED,
    -- SHA-256 of the secret, which is not stored.
    digest         BLOB    NOT NULL UNIQUE CHECK (length(digest) = 32),
    -- The first characters of the secret, to identify the key.
    prefix         TEXT    NOT NULL CHECK (length(prefix) = 12),
    label          TEXT    NOT NULL CHECK (length(label) <= 100),
    -- A list of scopes, in the order read, write, webhooks.
    scopes         TEXT    NOT NULL CHECK (
        scopes IN ('read', 'write', 'webhooks', 'read,write', 'read,webhooks', 'write,webhooks', 'read,write,webhooks')
    ),
    created_at     TEXT    NOT NULL CHECK (length(created_at) = 24),
    expires_at     TEXT    CHECK (length(expires_at) = 24),
    -- The end of a key's overlap with the key that replaces it. In rows of schema 1, expires_at may contain it instead.
    replaced_until TEXT    CHECK (length(replaced_until) = 24),
    revoked_at     TEXT    CHECK (length(revoked_at) = 24),
    -- The last ban, in force or over, and its length.
    ban_since      TEXT    CHECK (length(ban_since) = 24),
    ban_until      TEXT    CHECK (length(ban_until) = 24),
    ban_length_ms  INTEGER CHECK (ban_length_ms >= 0),
    -- The time at which an operator last lifted a ban of the key. A ban that began at or before this time is void.
    ban_lifted_at  TEXT    CHECK (length(ban_lifted_at) = 24),
    CONSTRAINT a_ban_is_whole CHECK (
        (ban_since IS NULL) = (ban_until IS NULL) AND (ban_since IS NULL) = (ban_length_ms IS NULL)
    )
) STRICT;
INSERT INTO keys_with_webhooks (id, account_id, digest, prefix, label, scopes, created_at, expires_at, replaced_until, revoked_at,
    ban_since, ban_until, ban_length_ms, ban_lifted_at)
SELECT id, account_id, digest, prefix, label, scopes, created_at, expires_at, replaced_until, revoked_at,
    ban_since, ban_until, ban_length_ms, ban_lifted_at FROM keys;
DROP TABLE keys;
ALTER TABLE keys_with_webhooks RENAME TO keys;

-- The webhooks of each account that has some: an array of objects. Their secrets are derived from random bits in them and
-- from a master key, which is not in this file.
CREATE TABLE webhooks (
    account_id INTEGER PRIMARY KEY REFERENCES accounts (id) DEFERRABLE INITIALLY DEFERRED,
    webhooks   TEXT    NOT NULL CHECK (json_valid(webhooks) AND json_type(webhooks) = 'array')
) STRICT;

-- How far each webhook has got in the event log. Written up to a second after its deliveries.
CREATE TABLE webhook_progress (
    id       INTEGER PRIMARY KEY,
    webhook  TEXT    NOT NULL UNIQUE CHECK (length(webhook) = 26),
    progress TEXT    NOT NULL CHECK (json_valid(progress))
) STRICT;

-- The deliveries of each webhook: those that are pending, and the latest ones that are settled.
CREATE TABLE webhook_deliveries (
    id              INTEGER PRIMARY KEY,
    webhook         TEXT    NOT NULL CHECK (length(webhook) = 26),
    -- The id of the event.
    event           TEXT    NOT NULL CHECK (length(event) = 26),
    -- The type of the event, such as order.placed.
    type            TEXT    NOT NULL,
    status          TEXT    NOT NULL CHECK (status IN ('pending', 'delivered', 'failed')),
    attempts        INTEGER NOT NULL CHECK (attempts >= 0),
    -- The latest attempts: an array of objects.
    log             TEXT    NOT NULL CHECK (json_valid(log) AND json_type(log) = 'array'),
    next_attempt_at TEXT    CHECK (length(next_attempt_at) = 24),
    updated_at      TEXT    NOT NULL CHECK (length(updated_at) = 24),
    UNIQUE (webhook, event)
) STRICT;
