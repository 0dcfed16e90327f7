//! The nodes that share the shop, and the form of events that all of them know.
//!
//! A node has a row in the table `nodes`. It inserts the row when it joins, renews it every second, and removes it when it
//! stops in order. All times are those of the database server. A node whose row was not renewed for 30 s counts as gone.
//!
//! The form of events in force ([`crate::event_forms`]) rises once every live node knows the next one. A node that joins and
//! one that raises the form lock the row of `schema_version`. So a node either joins first, and its form counts, or it finds
//! the raised form, and is refused if it does not know it.

mod list;
mod membership;
mod row;
mod statements;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, mpsc as blocking};
use std::time::Duration;

use parking_lot::Mutex;
use petstore_ports::StoreError;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

pub use list::{Node, nodes};
use membership::Membership;
pub use row::NewNode;

use crate::PostgresStore;
use crate::connection::{Connector, Role};
use crate::error::OpenError;

/// The time between two renewals of a node's row.
const RENEWAL: Duration = Duration::from_secs(1);

/// The time for the removal of a node's row when the node stops.
const LEAVING_TIME: Duration = Duration::from_secs(1);

/// The maximum number of commands to the task that wait.
const COMMANDS_MAX: usize = 16;

/// A command to the task that renews the row.
enum Command {
    /// The settings have changed.
    Settings(Vec<String>),
    /// The row is to be removed, and the task ends.
    Leave(blocking::Sender<()>),
}

/// This handle as a node, if it has joined.
#[derive(Default)]
pub(crate) struct OwnNode {
    task: Mutex<Option<mpsc::Sender<Command>>>,
    seen: Arc<Seen>,
}

/// The state of the nodes when this one last renewed its row.
#[derive(Default)]
struct Seen {
    live: AtomicU32,
    /// `true` while the form of events in force is one that this program does not know.
    is_outdated: AtomicBool,
}

impl OwnNode {
    /// Fails if the form of events in force is one that this program does not know. A program that starts then is refused.
    /// A node that runs is not ready, and refuses changes.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        if self.seen.is_outdated.load(Ordering::Relaxed) {
            return Err(StoreError::unavailable(
                "the shop has events of a newer release: replace this node by one of that release",
            ));
        }
        Ok(())
    }

    fn send(&self, command: Command) -> bool {
        // If the task cannot take a command, the next renewal is overdue anyway.
        self.task.lock().as_ref().is_some_and(|task| task.try_send(command).is_ok())
    }
}

/// The id of the node with this number.
pub(crate) fn id_of(number: u64) -> String {
    format!("{number:016x}")
}

impl PostgresStore {
    /// Registers this handle as a node, and renews its row until [`PostgresStore::leave`]. Blocks: it must not be called on a
    /// runtime's thread.
    ///
    /// # Errors
    /// The database cannot be reached, or the shop has events of a newer release.
    pub fn join(&self, node: NewNode) -> Result<(), OpenError> {
        let handle = self.background.handle();
        let mut membership =
            Membership::new(node, self.node_id(), Arc::clone(&self.forms), Arc::clone(&self.clock));
        handle.block_on(async {
            let session = self.connector.connect_with_retries(Role::Writer).await?;
            membership.join(&session, self.connector.schema()).await
        })?;
        handle.block_on(self.trial.warm_up());
        let (task, commands) = mpsc::channel(COMMANDS_MAX);
        *self.node.task.lock() = Some(task);
        self.node.seen.live.store(1, Ordering::Relaxed);
        let seen = Arc::clone(&self.node.seen);
        handle.spawn(renew(Arc::clone(&self.connector), membership, commands, seen));
        Ok(())
    }

    /// Replaces the settings that the row of this node shows, each as `name=value`.
    pub fn set_node_settings(&self, settings: Vec<String>) {
        self.node.send(Command::Settings(settings));
    }

    /// Removes the row of this node, if it has joined. Blocks for a second at most. If the database does not answer, the node
    /// counts as gone 30 s later.
    pub fn leave(&self) {
        let (sender, left) = blocking::channel();
        if self.node.send(Command::Leave(sender)) {
            let _: Result<(), _> = left.recv_timeout(LEAVING_TIME);
        }
        self.node.task.lock().take();
    }

    /// The id of this handle as a node, as 16 hexadecimal digits. It is drawn when the store is opened.
    pub fn node_id(&self) -> String {
        id_of(self.node_number)
    }

    /// The number of live nodes, this one included, when this node last renewed its row; 0 if it has not joined.
    pub fn live_nodes(&self) -> u32 {
        self.node.seen.live.load(Ordering::Relaxed)
    }

    /// The form of events in force, as this handle has last read it: a version of the compact form. Events of kinds that
    /// appeared in a later form are not written yet, because an older node runs.
    pub fn event_form(&self) -> u32 {
        self.forms.in_force()
    }
}

/// Renews the row of a node until it leaves, or until the store is dropped.
async fn renew(
    connector: Arc<Connector>,
    mut membership: Membership,
    mut commands: mpsc::Receiver<Command>,
    seen: Arc<Seen>,
) {
    let mut ticks = interval(RENEWAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            command = commands.recv() => match command {
                Some(Command::Settings(settings)) => membership.set_settings(settings),
                Some(Command::Leave(done)) => {
                    membership.leave(&connector).await;
                    let _: Result<(), _> = done.send(());
                    return;
                }
                None => return,
            },
            _ = ticks.tick() => {
                // After a failure the row is renewed a second later. `/ready` reports an outage by other means.
                if let Ok(live) = membership.renew(&connector).await {
                    seen.live.store(live, Ordering::Relaxed);
                    seen.is_outdated.store(membership.is_outdated(), Ordering::Relaxed);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
