//! Health: whether the database answers.

use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use petstore_domain::Timestamp;
use petstore_ports::{StoreError, StoreHealth};
use tokio::time::Instant;

use crate::PostgresStore;

/// The maximum age of the last answer of a healthy database. The poll of the keys asks the database several times a
/// second.
const ANSWER_AGE_MAX: Duration = Duration::from_secs(2);

/// The last answer of the database.
pub(crate) struct Pulse(Mutex<LastAnswer>);

struct LastAnswer {
    /// The last answer of the database, by the time at which its question was asked.
    answered: Instant,
    /// The last failure since that answer; none if there was no failure.
    failure: Option<StoreError>,
    /// The reason why a database that answers does not suit.
    unfit: Option<&'static str>,
}

impl Pulse {
    /// The pulse of a database that has just answered.
    pub(crate) fn new(now: Instant) -> Self {
        Self(Mutex::new(LastAnswer { answered: now, failure: None, unfit: None }))
    }

    /// Records an answer. `unfit`: the reason why the database does not suit, if there is one.
    pub(crate) fn answered(&self, asked: Instant, unfit: Option<&'static str>) {
        *self.0.lock() = LastAnswer { answered: asked, failure: None, unfit };
    }

    /// The reason why a database that answers does not suit.
    pub(crate) fn unfit(&self) -> Option<&'static str> {
        self.0.lock().unfit
    }

    pub(crate) fn failed(&self, error: StoreError) {
        self.0.lock().failure = Some(error);
    }

    /// Returns whether the last answer is older than this time.
    pub(crate) fn is_silent(&self, time: Duration, now: Instant) -> bool {
        now.saturating_duration_since(self.0.lock().answered) > time
    }

    /// Fails if the last answer is too old. The source of the error is the last failure, if there was one.
    pub(crate) fn check(&self, now: Instant) -> Result<(), StoreError> {
        let state = self.0.lock();
        if now.saturating_duration_since(state.answered) <= ANSWER_AGE_MAX {
            return Ok(());
        }
        let late = format!("PostgreSQL has not answered for {} s", ANSWER_AGE_MAX.as_secs());
        let late = StoreError::unavailable(late);
        Err(match &state.failure {
            Some(failure) => late.with_source(failure.clone()),
            None => late,
        })
    }
}

#[async_trait]
impl StoreHealth for PostgresStore {
    async fn check(&self, _now: Timestamp) -> Result<(), StoreError> {
        self.fault().map_or(Ok(()), Err)?;
        self.clock.check()?;
        self.pulse.unfit().map_or(Ok(()), |unfit| Err(StoreError::unavailable(unfit)))
    }

    fn has_met_damage(&self) -> bool {
        self.damage().contacts() > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_does_not_answer_for_two_seconds_is_reported_with_the_reason() {
        let now = Instant::now();
        let pulse = Pulse::new(now);
        pulse.failed(StoreError::unavailable("connection refused"));
        assert_eq!(pulse.check(now + ANSWER_AGE_MAX), Ok(()), "one failure is no outage");
        let late = now + ANSWER_AGE_MAX + Duration::from_millis(1);
        let report = pulse.check(late).expect_err("it is too late").report();
        assert_eq!(
            report,
            "the store is unavailable: PostgreSQL has not answered for 2 s: connection refused"
        );
        pulse.answered(late, None);
        assert_eq!(pulse.check(late), Ok(()));
    }
}
