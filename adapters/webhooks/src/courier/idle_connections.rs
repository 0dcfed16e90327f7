//! Connections that are kept for the next attempt.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use petstore_domain::{Target, TargetHost};
use tokio::time::{Instant, sleep_until};

use super::connection::Connection;

/// The idle connections of a courier, at most a fixed number for a fixed time.
pub(super) struct IdleConnections {
    kept: Mutex<Kept>,
    time: Duration,
    max: usize,
}

#[derive(Default)]
struct Kept {
    /// The connections, in the order in which they became idle.
    connections: VecDeque<Idle>,
    /// Set while a task closes connections whose time has ended.
    is_swept: bool,
}

struct Idle {
    origin: Origin,
    connection: Connection,
    until: Instant,
}

/// The parts of a URL that a connection depends on.
#[derive(PartialEq)]
struct Origin {
    host: TargetHost,
    port: u16,
    is_secure: bool,
}

impl Origin {
    fn of(target: &Target) -> Self {
        Self { host: target.host().clone(), port: target.port(), is_secure: target.is_secure() }
    }

    fn is_of(&self, target: &Target) -> bool {
        self.port == target.port() && self.is_secure == target.is_secure() && self.host == *target.host()
    }
}

impl IdleConnections {
    pub(super) fn new(time: Duration, max: usize) -> Arc<Self> {
        Arc::new(Self { kept: Mutex::default(), time, max })
    }

    /// Takes the last used connection to a target that leads to one of these addresses. The name may have got other addresses
    /// since the connection was made.
    pub(super) fn take(&self, target: &Target, addresses: &[IpAddr]) -> Option<Connection> {
        let mut kept = self.kept.lock();
        kept.connections.retain(|idle| idle.connection.is_open());
        let leads_there =
            |idle: &Idle| idle.origin.is_of(target) && addresses.contains(&idle.connection.peer());
        let place = kept.connections.iter().rposition(leads_there)?;
        kept.connections.remove(place).map(|idle| idle.connection)
    }

    /// Keeps a connection after an answer was read to its end.
    pub(super) fn put(self: &Arc<Self>, target: &Target, connection: Connection) {
        if !connection.is_open() || self.max == 0 {
            return;
        }
        let until = Instant::now() + self.time;
        let mut kept = self.kept.lock();
        if kept.connections.len() == self.max {
            kept.connections.pop_front();
        }
        kept.connections.push_back(Idle { origin: Origin::of(target), connection, until });
        if !kept.is_swept {
            kept.is_swept = true;
            tokio::spawn(sweep(Arc::downgrade(self), until));
        }
    }

    /// Closes the connections whose time has ended. Returns when the next one ends.
    fn close_ended(&self, now: Instant) -> Option<Instant> {
        let mut kept = self.kept.lock();
        while kept.connections.pop_front_if(|idle| idle.until <= now || !idle.connection.is_open()).is_some()
        {
        }
        let next = kept.connections.front().map(|idle| idle.until);
        kept.is_swept = next.is_some();
        next
    }
}

async fn sweep(connections: Weak<IdleConnections>, mut until: Instant) {
    loop {
        sleep_until(until).await;
        let next = connections.upgrade().and_then(|connections| connections.close_ended(Instant::now()));
        match next {
            Some(next) => until = next,
            None => return,
        }
    }
}
