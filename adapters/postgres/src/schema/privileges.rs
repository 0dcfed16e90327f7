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

/// Refuses a role that lacks a privilege, which it names.
pub(super) async fn check(session: &Session, schema: &str) -> Result<(), OpenError> {
    let missing = session.rows(MISSING, &[&schema]).await;
    let missing = missing.map_err(|error| failed("cannot read the privileges of the role", error))?;
    match missing.first() {
        Some(row) => Err(OpenError::Privilege { missing: row.get(0) }),
        None => Ok(()),
    }
}
