//! Examining a database without changing it.

use std::fmt;

use crate::background::Background;
use crate::connection::{Connector, Role, Server, Target, pooling};
use crate::error::OpenError;
use crate::schema::{self, ProbedSchema, Program};

/// The result of examining a database that suits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examined {
    /// The server that the URL leads to, with the settings that a store relies on.
    pub server: Server,
    /// The state of the schema that the URL names.
    pub schema: SchemaState,
}

/// The state of a schema that this program can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaState {
    /// It has no tables: the first start creates them.
    New,
    /// It has the tables of this version: a start migrates them if it is older than the program's.
    Made {
        /// The version of the tables.
        version: i32,
        /// The version of the program.
        known: i32,
    },
}

/// Connects as a store would, and checks the server, poolers before it, the schema, what a copy of its rows may lack, and the
/// privileges, also those that only a first start or a migration needs. Changes nothing. Blocks: it must not be called on a
/// runtime's thread.
///
/// # Errors
/// The errors of [`crate::PostgresStore::open`], except those that only a change of the schema would show.
pub fn examine(target: Target) -> Result<Examined, OpenError> {
    examine_as(target, false)
}

/// Examines a database like [`examine`], for a sandbox: the schema must be new, or made by a sandbox.
///
/// # Errors
/// The errors of [`examine`], and [`OpenError::NotASandbox`].
pub fn examine_sandbox(target: Target) -> Result<Examined, OpenError> {
    examine_as(target, true)
}

fn examine_as(target: Target, as_sandbox: bool) -> Result<Examined, OpenError> {
    let background = Background::start().map_err(OpenError::Thread)?;
    let connector = Connector::new(target, 0);
    background.handle().block_on(async {
        let (session, server) = connector.connect_to_server(Role::Writer).await?;
        pooling::refuse(&connector, &session).await?;
        let schema = connector.schema();
        let state = match schema::check(&session, schema, Program::THIS).await? {
            ProbedSchema::Absent | ProbedSchema::Empty => SchemaState::New,
            ProbedSchema::Foreign => return Err(OpenError::Foreign { schema: schema.to_owned() }),
            ProbedSchema::Made(_) if as_sandbox && !schema::is_sandbox(&session, schema).await? => {
                return Err(OpenError::NotASandbox { schema: schema.to_owned() });
            }
            ProbedSchema::Made(found) => {
                // A migration makes the tables of later versions.
                let version = usize::try_from(found.version).unwrap_or(0);
                schema::check_columns(&session, version).await?;
                schema::check_copy(&session, version).await?;
                SchemaState::Made { version: found.version, known: schema::VERSION }
            }
        };
        Ok(Examined { server, schema: state })
    })
}

impl fmt::Display for SchemaState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::New => f.write_str("new: the first start creates its tables"),
            Self::Made { version, known } if version < known => {
                write!(f, "version {version}: the next start migrates it to {known}")
            }
            Self::Made { version, .. } => write!(f, "version {version}"),
        }
    }
}
