//! The privileges of the role.

use crate::connection::Session;
use crate::error::{OpenError, failed};

/// The first privilege that is missing: on the schema, on its tables, or on its sequences.
const MISSING: &str = "
    select format('%s on schema %s', 'USAGE', $1::text) where not has_schema_privilege(to_regnamespace(quote_ident($1::text)), 'USAGE')
    union all
    (select format('%s on table %I.%I', wanted, $1::text, relname)
     from pg_class, unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE']) as wanted
     where relnamespace = to_regnamespace(quote_ident($1::text)) and relkind = 'r' and not has_table_privilege(oid, wanted)
     order by relname limit 1)
    union all
    (select format('%s on sequence %I.%I', wanted, $1::text, relname)
     from pg_class, unnest(array['USAGE', 'UPDATE']) as wanted
     where relnamespace = to_regnamespace(quote_ident($1::text)) and relkind = 'S' and not has_sequence_privilege(oid, wanted)
     order by relname limit 1)
    limit 1";

/// The first table to whose rows a policy of row-level security applies. The owner of a table and a superuser are exempt.
const ROW_SECURITY: &str = "
    select format('%I.%I', $1::text, relname) from pg_class
    where relnamespace = to_regnamespace(quote_ident($1::text)) and relkind = 'r' and row_security_active(oid)
    order by relname limit 1";

/// The privilege that the first start lacks: to create the schema, or tables in one that an administrator has made.
const NOT_CREATABLE: &str = "
    select case
        when to_regnamespace(quote_ident($1::text)) is null then
            case when not has_database_privilege(current_database(), 'CREATE')
                then format('CREATE on database %s', current_database()) end
        when not has_schema_privilege(to_regnamespace(quote_ident($1::text)), 'CREATE') then format('CREATE on schema %s', $1::text)
        when not has_schema_privilege(to_regnamespace(quote_ident($1::text)), 'USAGE') then format('USAGE on schema %s', $1::text)
    end";

/// The first table that a migration may change and that the role does not own. Tables of others in the schema do not matter.
pub(super) const NOT_OWNED: &str = "
    select format('of an owner on %I.%I', $1::text, relname) from pg_class
    where relnamespace = to_regnamespace(quote_ident($1::text)) and relkind = 'r' and not pg_has_role(relowner, 'USAGE')
        and relname in ('accounts', 'categories', 'commits', 'event_batches', 'event_log', 'idempotency_counts',
            'idempotency_records', 'key_changes', 'keys', 'nodes', 'orders', 'pets', 'schema_version', 'shop', 'shop_lock',
            'webhook_changes', 'webhook_deliveries', 'webhook_leases', 'webhooks')
    order by relname limit 1";

/// Refuses a role that lacks a privilege, which it names, or that row-level security applies to.
pub(super) async fn check(session: &Session, schema: &str) -> Result<(), OpenError> {
    if let Some(missing) = first(session, MISSING, schema).await? {
        return Err(OpenError::Privilege { missing });
    }
    match first(session, ROW_SECURITY, schema).await? {
        Some(table) => Err(OpenError::RowSecurity { table }),
        None => Ok(()),
    }
}

/// Refuses a role that may not make the tables of a new schema.
pub(super) async fn check_creation(session: &Session, schema: &str) -> Result<(), OpenError> {
    match first(session, NOT_CREATABLE, schema).await? {
        Some(missing) => Err(not_allowed(schema, &missing)),
        None => Ok(()),
    }
}

/// Refuses a role that may not migrate the tables of a schema. `creates`: true if the missing steps create tables.
pub(super) async fn check_migration(session: &Session, schema: &str, creates: bool) -> Result<(), OpenError> {
    if creates && let Some(missing) = first(session, NOT_CREATABLE, schema).await? {
        return Err(not_allowed(schema, &missing));
    }
    match first(session, NOT_OWNED, schema).await? {
        Some(missing) => Err(OpenError::Privilege { missing }),
        None => Ok(()),
    }
}

fn not_allowed(schema: &str, missing: &str) -> OpenError {
    OpenError::NotAllowed {
        schema: schema.to_owned(),
        reason: format!("the role lacks the privilege {missing}"),
    }
}

/// The text in the first row of a query about a schema; none without a row or without a text.
async fn first(session: &Session, sql: &str, schema: &str) -> Result<Option<String>, OpenError> {
    let rows = session.rows(sql, &[&schema]).await;
    let rows = rows.map_err(|error| failed("cannot read the privileges of the role", error))?;
    Ok(rows.first().and_then(|row| row.get(0)))
}
