//! The link of one runtime: a connection that is opened at its first use, and replaced after a failure.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use petstore_ports::StoreError;
use petstore_remote_connection::Replaceable;
use redis::{Cmd, Value};
use tokio::time::timeout;

use super::failure::{self, Aftermath};
use super::node::RedisConnections;
use super::session::Session;
use crate::link::{LinkError, LinkReply, RedisLink};

/// The deadline of a command, with the time to connect if necessary. It is below the service's deadline for the quota store
/// (100 ms), so that the error has a name.
const COMMAND_TIME: Duration = Duration::from_millis(90);

/// The number of late replies in a row after which the server counts as failed.
const LATE_MAX: u32 = 3;

/// The link of one runtime.
pub(super) struct RuntimeLink {
    node: Arc<RedisConnections>,
    current: Replaceable<Current>,
    /// Late replies since the last one in time.
    late: AtomicU32,
}

/// An open connection, and the number of outages when it was opened.
struct Current {
    session: Session,
    outages: u64,
}

impl RuntimeLink {
    pub(super) fn new(node: Arc<RedisConnections>) -> Self {
        Self { node, current: Replaceable::default(), late: AtomicU32::new(0) }
    }

    async fn call(&self, command: &Cmd) -> Result<Value, LinkError> {
        if let Some(fault) = self.node.fault() {
            return Err(LinkError::Failed(fault));
        }
        let outages = self.node.outages();
        match timeout(COMMAND_TIME, self.send_over_session(command)).await {
            Ok(sent) => {
                self.late.store(0, Ordering::Relaxed);
                sent
            }
            Err(_) => Err(LinkError::Failed(self.count_late(outages))),
        }
    }

    async fn send_over_session(&self, command: &Cmd) -> Result<Value, LinkError> {
        // A connection that leads to a server that has failed since is not used.
        let usable =
            |current: &Current| current.outages == self.node.outages() && !current.session.is_ended();
        let current = self.current.get(usable, self.open()).await.map_err(LinkError::Failed)?;
        current.session.send(command).await.map_err(|error| {
            let (error, aftermath) = failure::of_command(error);
            if aftermath != Aftermath::Usable {
                self.current.discard(&current);
            }
            if let (Aftermath::Unfit, LinkError::Failed(error)) = (aftermath, &error) {
                self.node.report_failure(current.outages, error);
            }
            error
        })
    }

    async fn open(&self) -> Result<Current, StoreError> {
        let outages = self.node.outages();
        let opened = self.node.addresses.open(&self.node.target(), COMMAND_TIME).await;
        let session = opened.inspect_err(|error| self.node.report_failure(outages, error))?;
        self.node.connects.fetch_add(1, Ordering::Relaxed);
        Ok(Current { session, outages })
    }

    fn count_late(&self, outages: u64) -> StoreError {
        if self.late.fetch_add(1, Ordering::Relaxed) + 1 >= LATE_MAX {
            self.late.store(0, Ordering::Relaxed);
            self.node.report_failure(outages, &StoreError::unavailable(LATE));
        }
        StoreError::indeterminate(LATE)
    }
}

/// The failure of a command whose reply is late.
const LATE: &str = "Redis does not answer in time";

impl RedisLink for RuntimeLink {
    fn send(&self, command: Cmd) -> LinkReply<'_> {
        Box::pin(async move { self.call(&command).await })
    }
}
