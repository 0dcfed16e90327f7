//! The bans that Redis has decided for the requests of this node.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use petstore_domain::{Ban, KeyId, Timestamp};

/// The maximum number of keys whose bans are kept. It is that of the bans that can wait to be recorded.
const KEPT_MAX: usize = 10_000;

/// The bans of this node, and the number of those that its requests began.
#[derive(Default)]
pub(crate) struct BegunBans {
    begun: AtomicU64,
    /// The start of the last ban of a key. A verdict said that this ban was not recorded.
    unrecorded: Mutex<HashMap<KeyId, Timestamp>>,
}

impl BegunBans {
    /// Counts bans that requests of this node began.
    pub(crate) fn count(&self, begun: u64) {
        self.begun.fetch_add(begun, Ordering::Relaxed);
    }

    /// The number of bans that requests of this node began.
    pub(crate) fn number(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// Keeps a ban that was not recorded when a request of this node met it.
    pub(crate) fn keep(&self, key: KeyId, ban: Ban) {
        let mut unrecorded = self.unrecorded.lock();
        if unrecorded.len() >= KEPT_MAX && !unrecorded.contains_key(&key) {
            let oldest = unrecorded.iter().min_by_key(|(_, since)| **since).map(|(key, _)| *key);
            oldest.and_then(|key| unrecorded.remove(&key));
        }
        unrecorded.insert(key, ban.since);
    }

    /// The bans that may not be recorded yet, each by its key and its start.
    pub(crate) fn all(&self) -> Vec<(KeyId, Timestamp)> {
        self.unrecorded.lock().iter().map(|(key, since)| (*key, *since)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use petstore_domain::BanPolicy;

    use super::*;

    #[test]
    fn the_oldest_ban_gives_way() {
        let bans = BegunBans::default();
        let key = |number: usize| KeyId::new(number as u64).unwrap();
        let keep = |number: usize| {
            let now = Timestamp::EPOCH.plus(Duration::from_secs(number as u64));
            bans.keep(key(number), BanPolicy::DEFAULT.next_ban(None, None, now));
        };
        (1..=KEPT_MAX).for_each(keep);
        keep(KEPT_MAX);
        assert!(bans.all().iter().any(|(kept, _)| *kept == key(1)), "a known key needs no place");
        keep(KEPT_MAX + 1);
        assert!(bans.all().iter().all(|(kept, _)| *kept != key(1)));
        assert_eq!(bans.all().len(), KEPT_MAX);
    }
}
