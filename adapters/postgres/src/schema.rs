//! The schema of the database: its versions, their migrations, and the privileges that a node needs.

mod columns;
mod copied;
mod migrate;
mod privileges;
mod sandbox;
mod state;

use petstore_domain::FOLDING;

use crate::connection::Session;
use crate::error::OpenError;
use crate::event_forms::KnownForms;

pub(crate) use columns::check as check_columns;
pub(crate) use copied::{check as check_copy, settle as settle_copy};
pub(crate) use migrate::prepare;
pub(crate) use sandbox::{disclaim, is_sandbox, no_sandbox};
pub(crate) use state::ProbedSchema;
use state::probe;

/// A step from one version of the tables to the next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    /// The statements, which run with the other steps in one transaction.
    sql: &'static str,
    /// The oldest version of a program, counted in steps, that may use the tables after this step. A step that only
    /// adds something does not raise it, so that nodes of two releases can run at the same time. A later step, which
    /// removes what the older release needed, raises it.
    oldest_reader: i32,
}

impl Step {
    /// Returns whether it creates tables or indexes, which needs a privilege on the schema.
    fn creates(&self) -> bool {
        self.sql.contains("create ")
    }
}

/// The steps from an empty schema. A released step never changes.
pub(crate) const STEPS: &[Step] = &[
    Step { sql: include_str!("schema/1.sql"), oldest_reader: 1 },
    // The table of nodes, and the identity of the database.
    Step {
        sql: concat!(include_str!("schema/2.sql"), include_str!("schema/shop_identity.sql")),
        oldest_reader: 1,
    },
    Step { sql: include_str!("schema/3.sql"), oldest_reader: 1 },
    Step { sql: include_str!("schema/4.sql"), oldest_reader: 1 },
    Step { sql: include_str!("schema/5.sql"), oldest_reader: 1 },
    #[cfg(petstore_planted_member)]
    Step { sql: "alter table pets add column former_name text;", oldest_reader: 1 },
];

/// The version that this program writes.
#[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "there are few steps")]
pub(crate) const VERSION: i32 = STEPS.len() as i32;

/// The properties of a program that decide which schemas it can use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Program<'s> {
    /// The steps that it knows.
    pub(crate) steps: &'s [Step],
    /// The forms of events that it knows.
    pub(crate) forms: KnownForms,
}

impl Program<'static> {
    /// This program.
    pub(crate) const THIS: Self = Self { steps: STEPS, forms: KnownForms::THIS };
}

impl Program<'_> {
    /// The version that it writes.
    fn version(&self) -> i32 {
        i32::try_from(self.steps.len()).expect("there are few steps")
    }
}

/// The properties of a new shop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewShop {
    /// The epoch of the shop and of its event log.
    pub(crate) epoch: u64,
    /// Marks the schema as one that a sandbox may reset.
    pub(crate) is_sandbox: bool,
}

/// The statements that make the first rows.
fn first_rows(shop: NewShop, forms: KnownForms) -> String {
    let NewShop { epoch, is_sandbox } = shop;
    format!(
        "insert into shop (epoch, is_sandbox) values ('{epoch:016x}', {is_sandbox});
         insert into event_log (epoch) values ('{epoch:016x}');
         insert into key_changes (number) values (0);
         insert into schema_version (version, oldest_reader, folding, event_form) values (1, 1, {FOLDING}, {});",
        forms.newest
    )
}

/// Checks a connected schema without changing it: that this program can use it or make it, and that the role has the privileges
/// for that.
pub(crate) async fn check(
    session: &Session,
    schema: &str,
    program: Program<'_>,
) -> Result<ProbedSchema, OpenError> {
    let state = probe(session, schema).await?;
    match &state {
        ProbedSchema::Made(found) => {
            found.check(schema, program.version(), program.forms)?;
            privileges::check(session, schema).await?;
            if found.version < program.version() {
                let done = usize::try_from(found.version).unwrap_or(0);
                let creates = program.steps.iter().skip(done).any(Step::creates);
                privileges::check_migration(session, schema, creates).await?;
            }
        }
        ProbedSchema::Absent | ProbedSchema::Empty => privileges::check_creation(session, schema).await?,
        ProbedSchema::Foreign => {}
    }
    Ok(state)
}

#[cfg(test)]
mod tests;
