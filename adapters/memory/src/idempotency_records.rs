//! Records of answered requests, which live for a while.

use std::collections::BTreeSet;

use dashmap::DashMap;
use foldhash::fast::RandomState;
use parking_lot::Mutex;
use petstore_domain::{AccountId, IdempotencyId, IdempotencyRecord, RecordRef, Timestamp};

use crate::stripes::Stripes;

/// Records that one call of housekeeping drops at most: some milliseconds of work.
const PRUNE_MAX: usize = 10_000;

/// Records of answered requests; found by name, counted by account, and in the order in which they expire.
///
/// A record counts until it is dropped. Changing a record takes its name; the counts are not part of any footprint.
pub(crate) struct IdempotencyTable {
    records: DashMap<IdempotencyId, IdempotencyRecord, RandomState>,
    counts: DashMap<AccountId, u32, RandomState>,
    by_expiry: Mutex<BTreeSet<(Timestamp, IdempotencyId)>>,
}

impl IdempotencyTable {
    pub(crate) fn new() -> Self {
        Self { records: DashMap::default(), counts: DashMap::default(), by_expiry: Mutex::default() }
    }

    pub(crate) fn get(&self, name: &IdempotencyId) -> Option<IdempotencyRecord> {
        self.records.get(name).map(|record| record.clone())
    }

    /// Every record, in no order.
    pub(crate) fn all(&self) -> impl Iterator<Item = IdempotencyRecord> {
        self.records.iter().map(|record| record.clone())
    }

    pub(crate) fn holds(&self, name: &IdempotencyId) -> bool {
        self.records.contains_key(name)
    }

    /// How many records an account has.
    pub(crate) fn count(&self, account: AccountId) -> u32 {
        self.counts.get(&account).map_or(0, |count| *count)
    }

    pub(crate) fn put(&self, record: IdempotencyRecord) {
        let (name, expires_at) = (record.name.clone(), record.expires_at);
        let replaced = self.records.insert(name.clone(), record);
        if replaced.is_none() {
            *self.counts.entry(name.account).or_default() += 1;
        }
        let mut by_expiry = self.by_expiry.lock();
        if let Some(replaced) = replaced {
            by_expiry.remove(&(replaced.expires_at, replaced.name));
        }
        by_expiry.insert((expires_at, name));
    }

    /// Removes every one. Nobody changes any meanwhile.
    pub(crate) fn clear(&self) {
        self.records.clear();
        self.counts.clear();
        self.by_expiry.lock().clear();
    }

    /// The names of the records that expire first, if they have expired at this time.
    fn expired(&self, now: Timestamp, max: usize) -> Vec<IdempotencyId> {
        let by_expiry = self.by_expiry.lock();
        let expired = by_expiry.iter().take_while(|(expires_at, _)| *expires_at <= now);
        expired.take(max).map(|(_, name)| name.clone()).collect()
    }

    /// Drops a record, if it has not been replaced by one that lives on. Returns whether it did.
    fn drop_expired(&self, name: &IdempotencyId, now: Timestamp) -> bool {
        let Some((_, record)) = self.records.remove_if(name, |_, record| record.expires_at <= now) else {
            return false;
        };
        if let Some(mut count) = self.counts.get_mut(&name.account) {
            *count -= 1;
        }
        self.counts.remove_if(&name.account, |_, count| *count == 0);
        self.by_expiry.lock().remove(&(record.expires_at, record.name));
        true
    }
}

/// Drops records that have expired, a bounded number of them. Returns how many went.
pub(crate) fn prune(retries: &IdempotencyTable, stripes: &Stripes, now: Timestamp) -> usize {
    let mut dropped = 0;
    for name in retries.expired(now, PRUNE_MAX) {
        let _held = stripes.hold(&[RecordRef::Idempotency(name.clone())]);
        dropped += usize::from(retries.drop_expired(&name, now));
    }
    dropped
}

#[cfg(test)]
mod tests {
    use petstore_domain::{Fingerprint, IdempotencyKey, IdempotencyScope, Outcome};

    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis).unwrap()
    }

    fn record(expires_at: i64) -> IdempotencyRecord {
        let name = IdempotencyId {
            account: AccountId::FIRST,
            scope: IdempotencyScope::CreatePet,
            key: IdempotencyKey::parse(b"a").unwrap(),
        };
        let (fingerprint, outcome) = (Fingerprint([0; 32]), Outcome::InsufficientStock(0));
        IdempotencyRecord { name, fingerprint, outcome, expires_at: at(expires_at) }
    }

    #[test]
    fn a_record_that_was_replaced_after_it_was_found_expired_is_not_dropped() {
        let retries = IdempotencyTable::new();
        retries.put(record(10));
        let expired = retries.expired(at(10), 5);
        assert_eq!(expired, [record(10).name]);
        retries.put(record(20));
        assert!(!retries.drop_expired(&expired[0], at(10)));
        assert_eq!((retries.get(&expired[0]), retries.count(AccountId::FIRST)), (Some(record(20)), 1));
        // The old record's place in the order of expiry went with it.
        assert_eq!(retries.by_expiry.lock().len(), 1);
    }

    #[test]
    fn an_account_without_records_takes_no_room() {
        let retries = IdempotencyTable::new();
        retries.put(record(10));
        assert!(retries.drop_expired(&record(10).name, at(10)));
        assert!(!retries.drop_expired(&record(10).name, at(10)));
        assert!(
            retries.records.is_empty() && retries.counts.is_empty() && retries.by_expiry.lock().is_empty()
        );
    }
}
