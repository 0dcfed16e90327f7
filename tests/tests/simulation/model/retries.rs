//! Answers that are kept under an idempotency key.

use std::collections::BTreeMap;

use crate::expected::Expected;

/// How long an answer is kept, in milliseconds.
pub(crate) const LIFE: i64 = 24 * 60 * 60 * 1_000;

/// Account, path, key.
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
    /// The answer to a request that was made before; none if it is to be done.
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

    /// Drops what has expired.
    pub(crate) fn prune(&mut self, now: i64) {
        self.0.retain(|_, kept| kept.expires_at > now);
    }
}
