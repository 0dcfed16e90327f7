//! The connection of the lane, and the pauses between attempts to open one.

use std::sync::Arc;
use std::time::Duration;

use petstore_ports::StoreError;
use tokio::time::Instant;

use super::statement::Texts;
use crate::connection::{Connector, Role, Session};
use crate::random::Random;

/// The shortest upper bound of a pause after a failed attempt. It doubles with each further one.
const PAUSE_MIN: Duration = Duration::from_millis(50);

/// The longest pause after a failed attempt.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// An open connection with the texts that it has prepared.
pub(super) struct Open {
    pub(super) session: Session,
    pub(super) texts: Texts,
}

/// The connection of the lane. It is discarded after a failure and opened again at the next use.
pub(super) struct Reconnecting {
    connector: Arc<Connector>,
    open: Option<Box<Open>>,
    /// The number of attempts that failed since the last one that did not.
    failed: u32,
    /// The end of the pause, and the failure before it.
    pause: Option<(Instant, StoreError)>,
}

impl Reconnecting {
    pub(super) fn new(connector: Arc<Connector>) -> Self {
        Self { connector, open: None, failed: 0, pause: None }
    }

    /// Takes the connection, or opens one. During a pause it fails at once, so that no caller waits for a database that is
    /// away.
    pub(super) async fn take(&mut self, random: &mut Random) -> Result<Box<Open>, StoreError> {
        if let Some(open) = self.open.take().filter(|open| !open.session.is_closed()) {
            return Ok(open);
        }
        if let Some((_, error)) = self.pause.as_ref().filter(|(end, _)| Instant::now() < *end) {
            return Err(error.clone());
        }
        match self.connector.connect(Role::Writer).await {
            Ok(session) => {
                (self.failed, self.pause) = (0, None);
                Ok(Box::new(Open { session, texts: Texts::default() }))
            }
            Err(error) => {
                self.pause = Some((Instant::now() + pause(self.failed, random), error.clone()));
                self.failed = self.failed.saturating_add(1);
                Err(error)
            }
        }
    }

    /// Gives the connection back for the next use.
    pub(super) fn keep(&mut self, open: Box<Open>) {
        self.open = Some(open);
    }
}

/// A pause with full jitter, so that nodes do not come back together.
fn pause(failed: u32, random: &mut Random) -> Duration {
    let bound = PAUSE_MIN.saturating_mul(2_u32.saturating_pow(failed)).min(PAUSE_MAX);
    let bound = u64::try_from(bound.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(1 + random.below(bound))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_random_and_bounded() {
        let mut random = Random::of_handle(1);
        for (failed, bound) in [(0, 50), (1, 100), (6, 3_200), (7, 5_000), (40, 5_000)] {
            let pauses: Vec<_> = (0..200).map(|_| pause(failed, &mut random).as_millis()).collect();
            assert!(pauses.iter().all(|pause| (1..=bound).contains(pause)), "{failed}");
            assert!(
                pauses.iter().any(|pause| *pause < bound / 4)
                    && pauses.iter().any(|pause| *pause > bound / 2)
            );
        }
    }
}
