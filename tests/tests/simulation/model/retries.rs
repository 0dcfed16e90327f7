//! Idempotency records.

use std::collections::BTreeMap;

use crate::expected::Expected;

/// The lifetime of a record, in milliseconds.
pub(crate) const LIFE: i64 = 24 * 60 * 60 * 1_000;

/// The account, the path and the idempotency key of a request.
pub(crate) type Name = (u64, String, String);

#[derive(Debug, Clone)]
pub(crate) struct Kept {
    pub(crate) body: String,
    pub(crate) answer: Expected,
    pub(crate) expires_at: i64,
}

#[derive(Debug, Default)]
pub(crate) struct Retries(pub(crate) BTreeMap<Name, Kept>);

impl Retries {
    /// The recorded answer to a request; none if the request must be executed.
    pub(crate) fn answer(&self, name: &Name, body: &str, now: i64) -> Option<Expected> {
        let kept = self.0.get(name).filter(|kept| kept.expires_at > now)?;
        Some(if kept.body == body {
            Expected { replayed: true, ..kept.answer.clone() }
        } else {
            Expected::refused(422, "idempotency_key_reused")
        })
    }

    pub(crate) fn keep(&mut self, name: Name, body: String, answer: &Expected, now: i64) {
        if answer.is_kept() {
            let kept = Kept { body, answer: answer.clone(), expires_at: now + LIFE };
            self.0.insert(name, kept);
        }
    }

    /// Drops the expired records.
    pub(crate) fn prune(&mut self, now: i64) {
        self.0.retain(|_, kept| kept.expires_at > now);
    }
}
