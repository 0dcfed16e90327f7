-- Webhooks. Everything is added, so older programs go on.

-- Keys may have the scope webhooks.
alter table keys drop constraint keys_scopes_check;
alter table keys add constraint keys_scopes_check check (
    scopes in ('read', 'write', 'webhooks', 'read,write', 'read,webhooks', 'write,webhooks', 'read,write,webhooks')
);

-- The webhooks of each account that has some: an array of objects. Their secrets are derived from random bits in them and
-- from a master key, which is not in this database.
create table webhooks (
    account_id bigint primary key references accounts (id),
    webhooks   json   not null check (json_typeof(webhooks) = 'array')
);

-- Raised by each change of webhooks, in its transaction. Nodes poll it, and read all webhooks if it has changed.
create table webhook_changes (
    one    boolean primary key default true check (one),
    number bigint  not null check (number >= 0)
);
insert into webhook_changes (number) values (0);

-- The leases of webhooks and their progress in the event log. A node delivers the events of a webhook while it holds its
-- lease. The times are those of the database.
create table webhook_leases (
    webhook    text   primary key collate "C" check (char_length(webhook) = 26),
    -- The node that holds the lease: a random number that it draws at its start.
    node       bigint not null,
    -- Raised each time another node claims the webhook. A save with another number is refused.
    number     bigint not null check (number >= 1),
    until      timestamptz not null,
    progress   json
) with (fillfactor = 70);

-- The deliveries of each webhook: those that are pending, and the latest ones that are settled.
create table webhook_deliveries (
    webhook         text   not null collate "C" references webhook_leases (webhook) on delete cascade,
    -- The id of the event.
    event           text   not null collate "C" check (char_length(event) = 26),
    -- The type of the event, such as order.placed.
    type            text   not null,
    status          text   not null check (status in ('pending', 'delivered', 'failed')),
    attempts        bigint not null check (attempts >= 0),
    -- The latest attempts: an array of objects.
    log             json   not null check (json_typeof(log) = 'array'),
    next_attempt_at timestamptz,
    updated_at      timestamptz not null,
    primary key (webhook, event)
);
