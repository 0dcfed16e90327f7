//! The row of this node: joining, renewing, leaving, and raising the form of events.

use std::sync::Arc;
use std::time::Duration;

use petstore_ports::StoreError;
use tokio::time::timeout;
use tokio_postgres::Row;

use super::row::{NewNode, OwnRow};
use super::statements;
use crate::clock::DatabaseClock;
use crate::connection::{Connector, Parameter, Role, Session};
use crate::error::{OpenError, failed};
use crate::event_forms::EventForms;

/// The time limit for registering a node, which waits for a node that raises the form of events.
const JOINING_TIME: Duration = Duration::from_secs(5);

/// The time limit of a renewal, with its connection.
const RENEWAL_TIME: Duration = Duration::from_secs(3);

/// The number of renewals on one connection after which the form of events may rise although nodes that do not know it have
/// rows that were not renewed. A new connection may lead to another server after a failover, whose clock may differ. By
/// this time every live node has renewed its row there.
const SETTLED: u32 = 10;

/// The membership of this node.
pub(super) struct Membership {
    row: OwnRow,
    forms: Arc<EventForms>,
    clock: Arc<DatabaseClock>,
    session: Option<Session>,
    /// The number of renewals on the connection.
    renewals: u32,
}

/// The nodes as a renewal found them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Renewed {
    /// The form of events in force.
    in_force: u32,
    /// The number of live nodes, this one included.
    live: u32,
    /// A live node does not know the form that this one knows.
    has_older: bool,
    /// Such a node has a row, which may be an old one.
    has_older_row: bool,
}

impl Membership {
    pub(super) fn new(node: NewNode, id: String, forms: Arc<EventForms>, clock: Arc<DatabaseClock>) -> Self {
        Self { row: OwnRow::new(node, id), forms, clock, session: None, renewals: 0 }
    }

    /// Inserts the row. Fails if the form of events in force is one that this program does not know.
    pub(super) async fn join(&mut self, session: &Session, schema: &str) -> Result<(), OpenError> {
        let row = timeout(JOINING_TIME, self.execute(session, statements::JOIN)).await;
        let row = row.map_err(|_| StoreError::unavailable("the node was not registered in time"))?;
        let row = row.map_err(|error| failed("cannot register the node", error))?;
        let in_force = form(&row)?;
        let known = self.forms.known();
        if in_force > known.newest {
            let found = i32::try_from(in_force).unwrap_or(i32::MAX);
            return Err(OpenError::EventForm { schema: schema.to_owned(), found, known: known.stored() });
        }
        self.forms.learn(in_force);
        Ok(())
    }

    pub(super) fn set_settings(&mut self, settings: Vec<String>) {
        self.row.settings = settings;
    }

    /// Returns whether the form of events in force is one that this program does not know. It has then risen while this
    /// node could not renew its row.
    pub(super) fn is_outdated(&self) -> bool {
        self.forms.in_force() > self.forms.known().newest
    }

    /// Renews the row, and raises the form of events if it may rise. Returns the number of live nodes.
    pub(super) async fn renew(&mut self, connector: &Connector) -> Result<u32, StoreError> {
        let renewed = timeout(RENEWAL_TIME, self.renew_once(connector)).await;
        let late = || StoreError::unavailable("the row of the node was not renewed in time");
        let renewed = renewed.unwrap_or_else(|_| Err(late()));
        if renewed.is_err() {
            self.session = None;
        }
        renewed
    }

    async fn renew_once(&mut self, connector: &Connector) -> Result<u32, StoreError> {
        let session = if let Some(session) = self.session.take().filter(|session| !session.is_closed()) {
            session
        } else {
            self.renewals = 0;
            connector.connect(Role::Writer).await?
        };
        let rows = self.renew_row(&session).await;
        let rows = rows.map_err(|error| failed("renew the row of the node", error))?;
        let mut renewed = renewed(&rows)?;
        let (ahead, others) = clocks(&rows)?;
        if let Some(ahead) = ahead {
            self.clock.compared(ahead, &others);
        }
        connector.continuity().set_live_nodes(Some(others_of(&rows)?));
        self.renewals = self.renewals.saturating_add(1);
        let newest = self.forms.known().newest;
        if may_raise(renewed, newest, self.renewals) {
            let raised = session.batch_alone(&statements::raise(newest)).await;
            raised.map_err(|error| failed("raise the form of events", error))?;
            // A node that joined meanwhile keeps the form from rising. So it is read again.
            let row = self.renew_row(&session).await;
            renewed.in_force = form(&row.map_err(|error| failed("read the form of events", error))?)?;
        }
        self.forms.learn(renewed.in_force);
        self.session = Some(session);
        Ok(renewed.live)
    }

    /// Removes the row.
    pub(super) async fn leave(&mut self, connector: &Connector) {
        connector.continuity().set_live_nodes(None);
        let left = async {
            let session = match self.session.take().filter(|session| !session.is_closed()) {
                Some(session) => session,
                None => connector.connect(Role::Writer).await?,
            };
            let removed = session.rows_alone(statements::LEAVE, &[&self.row.id]).await;
            removed.map(drop).map_err(|error| failed("remove the row of the node", error))
        };
        // If the row cannot be removed, the node counts as gone 30 s later.
        let _: Result<Result<(), StoreError>, _> = timeout(RENEWAL_TIME, left).await;
    }

    async fn renew_row(&self, session: &Session) -> Result<Vec<Row>, tokio_postgres::Error> {
        let OwnRow { id, version, host, address, settings, .. } = &self.row;
        let (form, seconds) = (self.forms.known().stored(), self.row.seconds());
        let machine = self.clock.machine_micros();
        let parameters: [&dyn Parameter; 8] =
            [id, version, &form, host, address, settings, &seconds, &machine];
        session.rows_alone(statements::RENEW, &parameters).await
    }

    async fn execute(&self, session: &Session, sql: &str) -> Result<Vec<Row>, tokio_postgres::Error> {
        let OwnRow { id, version, host, address, settings, .. } = &self.row;
        let (form, seconds) = (self.forms.known().stored(), self.row.seconds());
        let parameters: [&dyn Parameter; 7] = [id, version, &form, host, address, settings, &seconds];
        session.rows_alone(sql, &parameters).await
    }
}

/// Returns whether a node that knows the form `newest` may raise the form in force to it.
fn may_raise(found: Renewed, newest: u32, renewals: u32) -> bool {
    found.in_force < newest && !found.has_older && (!found.has_older_row || renewals >= SETTLED)
}

fn form(rows: &[Row]) -> Result<u32, StoreError> {
    let row = first(rows)?;
    let form: i32 = row.try_get(0).map_err(unreadable)?;
    u32::try_from(form).map_err(|_| StoreError::corrupt("schema_version: the column event_form is negative"))
}

fn first(rows: &[Row]) -> Result<&Row, StoreError> {
    rows.first().ok_or_else(|| StoreError::corrupt("schema_version: the row is missing"))
}

fn renewed(rows: &[Row]) -> Result<Renewed, StoreError> {
    let row = first(rows)?;
    let others: i64 = row.try_get(1).map_err(unreadable)?;
    Ok(Renewed {
        in_force: form(rows)?,
        live: u32::try_from(others).unwrap_or(u32::MAX).saturating_add(1),
        has_older: row.try_get(2).map_err(unreadable)?,
        has_older_row: row.try_get(3).map_err(unreadable)?,
    })
}

/// The milliseconds by which the machine of this node is ahead of the database, and those of the other live nodes.
fn clocks(rows: &[Row]) -> Result<(Option<i64>, Vec<i64>), StoreError> {
    let row = first(rows)?;
    Ok((row.try_get(4).map_err(unreadable)?, row.try_get(5).map_err(unreadable)?))
}

/// The ids of the other live nodes.
fn others_of(rows: &[Row]) -> Result<Vec<String>, StoreError> {
    first(rows)?.try_get(6).map_err(unreadable)
}

fn unreadable(error: tokio_postgres::Error) -> StoreError {
    StoreError::corrupt("the answer about nodes cannot be read").with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE_OLDER: Renewed = Renewed { in_force: 1, live: 2, has_older: false, has_older_row: false };

    #[test]
    fn the_form_rises_only_if_no_node_that_does_not_know_it_may_be_live() {
        assert!(may_raise(NONE_OLDER, 2, 1), "no node of an older release has a row");
        assert!(!may_raise(NONE_OLDER, 1, 99), "it is in force already");
        let live = Renewed { has_older: true, has_older_row: true, ..NONE_OLDER };
        assert!(!may_raise(live, 2, 99));
        let gone = Renewed { has_older_row: true, ..NONE_OLDER };
        assert!(!may_raise(gone, 2, SETTLED - 1), "the clock of a new server may be ahead");
        assert!(may_raise(gone, 2, SETTLED));
    }
}
