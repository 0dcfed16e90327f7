//! The credentials that a node keeps in memory.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::RwLock;
use petstore_domain::{KeyDigest, KeyId};
use petstore_ports::{Credential, KeyLookup};
use tokio::time::Instant;

/// The maximum number of credentials for each kind of look-up. When there are more, all are dropped.
const CREDENTIALS_MAX: usize = 65_536;

/// The maximum age of the last check for changes. A credential is not used when the check is older, so that a change is
/// visible within this time.
const CHECK_AGE_MAX: Duration = Duration::from_secs(1);

/// Credentials that were all read at the same number of changes of accounts and keys. They are dropped when the number
/// rises.
#[derive(Default)]
pub(crate) struct KeyCache(RwLock<KnownCredentials>);

#[derive(Default)]
struct KnownCredentials {
    /// The number of changes at the last check. None until the first check, and after a change by this handle.
    changes: Option<i64>,
    /// The beginning of the last check that succeeded.
    checked: Option<Instant>,
    by_digest: HashMap<KeyDigest, Credential>,
    by_id: HashMap<KeyId, Credential>,
}

impl KeyCache {
    /// Returns the credential; none if it is not in memory, or if changes may have been missed since the last check.
    pub(crate) fn get(&self, name: KeyLookup, now: Instant) -> Option<Credential> {
        let state = self.0.read();
        let checked = state.checked?;
        if now.saturating_duration_since(checked) > CHECK_AGE_MAX {
            return None;
        }
        match name {
            KeyLookup::Digest(digest) => state.by_digest.get(&digest).copied(),
            KeyLookup::Id(id) => state.by_id.get(&id).copied(),
        }
    }

    /// Keeps a credential that was read in the same statement as the number of changes.
    pub(crate) fn insert(&self, name: KeyLookup, changes: i64, credential: Credential) {
        let mut state = self.0.write();
        if state.changes != Some(changes) {
            return;
        }
        match name {
            KeyLookup::Digest(digest) => insert(&mut state.by_digest, digest, credential),
            KeyLookup::Id(id) => insert(&mut state.by_id, id, credential),
        }
    }

    /// Takes note of the number of changes, which was read at or after this time.
    pub(crate) fn checked(&self, changes: i64, began: Instant) {
        let mut state = self.0.write();
        if state.changes != Some(changes) {
            state.forget();
            state.changes = Some(changes);
        }
        state.checked = Some(began);
    }

    /// Drops all credentials, after a change by this handle.
    pub(crate) fn forget(&self) {
        self.0.write().forget();
    }
}

impl KnownCredentials {
    fn forget(&mut self) {
        self.changes = None;
        self.by_digest.clear();
        self.by_id.clear();
    }
}

fn insert<K: Eq + std::hash::Hash>(credentials: &mut HashMap<K, Credential>, key: K, credential: Credential) {
    if credentials.len() >= CREDENTIALS_MAX {
        credentials.clear();
    }
    credentials.insert(key, credential);
}

#[cfg(test)]
mod tests {
    use petstore_domain::{AccountId, Plan, Scopes};
    use petstore_ports::RecordedBan;

    use super::*;

    const NAME: KeyLookup = KeyLookup::Id(KeyId::FIRST);

    fn credential() -> Credential {
        Credential {
            key: KeyId::FIRST,
            account: AccountId::FIRST,
            plan: Plan::Free,
            scopes: Scopes::parse("read").unwrap(),
            expires_at: None,
            revoked: false,
            recorded_ban: RecordedBan::default(),
        }
    }

    /// A cache with one credential that was read after one change, and the time of its last check.
    fn cache() -> (KeyCache, Instant) {
        let (cache, began) = (KeyCache::default(), Instant::now());
        cache.checked(1, began);
        cache.insert(NAME, 1, credential());
        (cache, began)
    }

    #[test]
    fn a_credential_is_used_for_a_second_after_the_last_check() {
        let (cache, began) = cache();
        assert_eq!(cache.get(NAME, began + CHECK_AGE_MAX), Some(credential()));
        let late = began + CHECK_AGE_MAX + Duration::from_millis(1);
        assert_eq!(cache.get(NAME, late), None, "changes may have been missed");
        cache.checked(1, late);
        assert_eq!(cache.get(NAME, late), Some(credential()), "no change was missed");
    }

    #[test]
    fn a_change_drops_the_credentials() {
        let (cache, began) = cache();
        cache.checked(2, began);
        assert_eq!(cache.get(NAME, began), None);
        cache.insert(NAME, 1, credential());
        assert_eq!(cache.get(NAME, began), None, "it was read before the change");
        cache.insert(NAME, 2, credential());
        assert_eq!(cache.get(NAME, began), Some(credential()));
    }

    #[test]
    fn after_a_change_by_this_handle_nothing_is_kept_until_the_next_check() {
        let (cache, began) = cache();
        cache.forget();
        cache.insert(NAME, 1, credential());
        assert_eq!(cache.get(NAME, began), None);
    }

    #[test]
    fn the_number_of_credentials_is_bounded() {
        let (cache, _) = cache();
        for number in 1..=2 * CREDENTIALS_MAX as u64 + 1 {
            cache.insert(KeyLookup::Id(KeyId::new(number).unwrap()), 1, credential());
            assert!(cache.0.read().by_id.len() <= CREDENTIALS_MAX);
        }
    }
}
