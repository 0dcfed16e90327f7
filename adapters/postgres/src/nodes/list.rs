//! The nodes of a shop, for operators.

use std::time::Duration;

use petstore_domain::Timestamp;
use petstore_ports::StoreError;
use tokio_postgres::Row;

use super::statements;
use crate::PostgresStore;
use crate::background::Background;
use crate::connection::{Connector, Role, Session, Target};
use crate::error::{OpenError, failed};
use crate::records::Fields;
use crate::schema::{self, ProbedSchema, Program};

/// The first version of the schema with the table of nodes.
const SINCE: i32 = 2;

/// A node, as its row shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its id, 16 hexadecimal digits.
    pub id: String,
    /// The release that it runs, such as `1.0.0`.
    pub version: String,
    /// The newest form of events that it knows.
    pub event_form: u32,
    /// The name of its machine.
    pub host: String,
    /// The address at which it serves.
    pub address: String,
    /// The start of the node, by the clock of the database server.
    pub started: Timestamp,
    /// The last renewal of its row, by the clock of the database server.
    pub seen: Timestamp,
    /// The time since that renewal.
    pub seen_ago: Duration,
    /// `true` if the row was renewed within the last 30 s.
    pub is_live: bool,
    /// The settings that should be the same on all nodes, each as `name=value`.
    pub settings: Vec<String>,
}

/// Lists the nodes of a shop in the order of their start, without a node and without a change of the database. A node that
/// was killed is listed for some minutes. Returns none if the schema has no tables, or is of a program that did not register
/// its nodes. Blocks: it must not be called on a runtime's thread.
///
/// # Errors
/// The errors of [`crate::examine`].
pub fn nodes(target: Target) -> Result<Option<Vec<Node>>, OpenError> {
    let background = Background::start().map_err(OpenError::Thread)?;
    let connector = Connector::new(target, 0);
    background.handle().block_on(async {
        let session = connector.connect(Role::Reader).await?;
        match schema::check(&session, connector.schema(), Program::THIS).await? {
            ProbedSchema::Foreign => {
                return Err(OpenError::Foreign { schema: connector.schema().to_owned() });
            }
            ProbedSchema::Made(found) if found.version >= SINCE => {}
            ProbedSchema::Absent | ProbedSchema::Empty | ProbedSchema::Made(_) => return Ok(None),
        }
        Ok(Some(listed(&session).await?))
    })
}

impl PostgresStore {
    /// Lists the nodes of the shop in the order of their start, as [`nodes`] does. Blocks: it must not be called on a
    /// runtime's thread.
    ///
    /// # Errors
    /// The database cannot be reached.
    pub fn nodes(&self) -> Result<Vec<Node>, StoreError> {
        self.background.handle().block_on(async {
            let session = self.connector.connect(Role::Reader).await?;
            listed(&session).await
        })
    }
}

async fn listed(session: &Session) -> Result<Vec<Node>, StoreError> {
    let rows = session
        .rows_alone(statements::LIST, &[])
        .await
        .map_err(|error| failed("cannot read the nodes", error))?;
    rows.iter().map(parse).collect()
}

fn parse(row: &Row) -> Result<Node, StoreError> {
    let mut fields = Fields::of("nodes", row);
    Ok(Node {
        id: fields.plain()?,
        version: fields.plain()?,
        event_form: fields.parsed(|form: i32| u32::try_from(form).map_err(|_| "is negative"))?,
        host: fields.plain()?,
        address: fields.plain()?,
        started: fields.time()?,
        seen: fields.time()?,
        seen_ago: fields.parsed(Duration::try_from_secs_f64)?,
        is_live: fields.plain()?,
        settings: fields.plain()?,
    })
}
