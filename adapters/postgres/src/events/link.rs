//! The connection of one task: opened when it is needed, and replaced after a failure.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use petstore_ports::StoreError;
use tokio::time::Instant;

use super::statements;
use crate::connection::{Connector, Role, Session};
use crate::error::failed;

/// The bounds of the time between two attempts to connect.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// The use of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Pages of the log.
    Pages,
    /// The transactions that give positions or drop old batches.
    Sequencer,
}

/// A connection that may have been given up.
pub(super) struct Line {
    pub(super) session: Session,
    is_discarded: AtomicBool,
}

impl Line {
    /// Gives the connection up: its state is not known after a failure.
    pub(super) fn discard(&self) {
        self.is_discarded.store(true, Ordering::Relaxed);
    }

    fn is_usable(&self) -> bool {
        !self.is_discarded.load(Ordering::Relaxed) && !self.session.is_closed()
    }
}

/// The connection of one task.
pub(super) struct Link {
    connector: Arc<Connector>,
    purpose: Use,
    line: Option<Arc<Line>>,
    failures: u32,
    /// No attempt is made before this time.
    not_before: Instant,
    /// The state of the numbers that the pauses are drawn with.
    random: u64,
}

impl Link {
    pub(super) fn new(connector: Arc<Connector>, purpose: Use, seed: u64) -> Self {
        Self { connector, purpose, line: None, failures: 0, not_before: Instant::now(), random: seed }
    }

    /// Returns the open connection, or opens one. While the database refuses, most calls fail without an attempt.
    pub(super) async fn line(&mut self) -> Result<Arc<Line>, StoreError> {
        if let Some(line) = self.line.take_if(|line| line.is_usable()) {
            return Ok(Arc::clone(self.line.insert(line)));
        }
        self.line = None;
        if Instant::now() < self.not_before {
            return Err(StoreError::unavailable(
                "PostgreSQL cannot be reached; the next attempt follows soon",
            ));
        }
        match self.open().await {
            Ok(session) => {
                self.failures = 0;
                let line = Arc::new(Line { session, is_discarded: AtomicBool::new(false) });
                Ok(Arc::clone(self.line.insert(line)))
            }
            Err(error) => {
                self.not_before = Instant::now() + self.pause();
                Err(error)
            }
        }
    }

    async fn open(&self) -> Result<Session, StoreError> {
        let role = match self.purpose {
            Use::Pages => Role::Reader,
            Use::Sequencer => Role::Writer,
        };
        let session = self.connector.connect(role).await?;
        let set = session.batch(statements::SETTINGS).await;
        set.map_err(|error| failed("set up the connection of the event log", error))?;
        Ok(session)
    }

    /// The pause after a failed attempt: up to twice the previous bound, drawn evenly.
    fn pause(&mut self) -> Duration {
        let bound = PAUSE_MIN.saturating_mul(1 << self.failures.min(7)).min(PAUSE_MAX);
        self.failures = self.failures.saturating_add(1);
        // The step of SplitMix64.
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let part = u32::try_from(mixed >> 48).unwrap_or(0);
        bound.mul_f64(f64::from(part) / 65_536.0)
    }
}
