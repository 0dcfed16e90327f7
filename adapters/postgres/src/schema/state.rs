//! The state in which a schema is found.

use petstore_domain::FOLDING;
use petstore_ports::StoreError;

use super::privileges;
use crate::connection::Session;
use crate::error::{Fate, OpenError, failed, fate};
use crate::event_forms::KnownForms;

/// The state of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProbedSchema {
    /// It does not exist.
    Absent,
    /// It exists without tables.
    Empty,
    /// It has tables, but not those of a petstore.
    Foreign,
    /// It has the tables of a petstore.
    Made(VersionRow),
}

/// The row of `schema_version`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VersionRow {
    /// The version of the tables.
    pub(crate) version: i32,
    /// The oldest version of a program that may use them.
    pub(crate) oldest_reader: i32,
    folding: i32,
    event_form: i32,
}

/// Asks for the state of a schema.
pub(crate) async fn probe(session: &Session, schema: &str) -> Result<ProbedSchema, OpenError> {
    let sql = "select to_regnamespace(quote_ident($1)) is not null,
        exists (select 1 from pg_class where relnamespace = to_regnamespace(quote_ident($1))),
        to_regclass(format('%I.schema_version', $1)) is not null and to_regclass(format('%I.event_batches', $1)) is not null";
    let rows = match session.rows(sql, &[&schema]).await {
        // A table cannot be looked up without a privilege on its schema, which the error then names.
        Err(error) if fate(&error) == Fate::Denied => {
            privileges::check(session, schema).await?;
            return Err(asked(error));
        }
        rows => rows.map_err(asked)?,
    };
    let row =
        rows.first().ok_or_else(|| StoreError::corrupt("the catalogue of the database has no answer"))?;
    let (exists, has_tables, is_ours): (bool, bool, bool) = (row.get(0), row.get(1), row.get(2));
    if !is_ours {
        return Ok(match (exists, has_tables) {
            (false, _) => ProbedSchema::Absent,
            (true, false) => ProbedSchema::Empty,
            (true, true) => ProbedSchema::Foreign,
        });
    }
    // The name of the schema stands here because this may be outside of a transaction, which sets the search path.
    let sql = format!("select version, oldest_reader, folding, event_form from \"{schema}\".schema_version");
    let rows = match session.rows(&sql, &[]).await {
        Err(error) if fate(&error) == Fate::Denied => {
            privileges::check(session, schema).await?;
            return Err(asked(error));
        }
        rows => rows.map_err(asked)?,
    };
    let row = rows.first().ok_or_else(|| StoreError::corrupt("schema_version: the row is missing"))?;
    let found = VersionRow {
        version: row.get(0),
        oldest_reader: row.get(1),
        folding: row.get(2),
        event_form: row.get(3),
    };
    Ok(ProbedSchema::Made(found))
}

fn asked(error: tokio_postgres::Error) -> OpenError {
    OpenError::Store(failed("cannot read the version of the schema", error))
}

impl VersionRow {
    /// Refuses tables that a program of this version, which knows these forms of events, must not use.
    pub(crate) fn check(&self, schema: &str, known: i32, forms: KnownForms) -> Result<(), OpenError> {
        let schema = || schema.to_owned();
        if self.oldest_reader > known {
            return Err(OpenError::Version {
                schema: schema(),
                found: self.version,
                oldest_reader: self.oldest_reader,
                known,
            });
        }
        let folding = i32::try_from(FOLDING).expect("a small number");
        if self.folding != folding {
            return Err(OpenError::Folding { schema: schema(), found: self.folding, known: folding });
        }
        let known = forms.stored();
        if self.event_form > known {
            return Err(OpenError::EventForm { schema: schema(), found: self.event_form, known });
        }
        Ok(())
    }
}
