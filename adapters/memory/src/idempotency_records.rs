//! The table of idempotency records, which expire.

use std::collections::BTreeSet;

use dashmap::DashMap;
use foldhash::fast::RandomState;
use parking_lot::Mutex;
use petstore_domain::{AccountId, IdempotencyId, IdempotencyRecord, RecordRef, Timestamp};

use crate::stripes::Stripes;

/// Maximum number of records that one call of housekeeping drops. It limits the duration of the call to some
/// milliseconds.
const PRUNE_MAX: usize = 10_000;

/// Idempotency records, found by id, counted by account, and sorted by expiry.
///
/// An expired record is counted until it is dropped. To change a record, the caller holds the record's stripe. The
/// counts are not part of any footprint, so an operation may see a count that is about to change.
pub(crate) struct IdempotencyTable {
    records: DashMap<IdempotencyId, IdempotencyRecord, RandomState>,
    counts: DashMap<AccountId, u32, RandomState>,
    by_expiry: Mutex<BTreeSet<(Timestamp, IdempotencyId)>>,
}

impl IdempotencyTable {
    pub(crate) fn new() -> Self {
        Self { records: DashMap::default(), counts: DashMap::default(), by_expiry: Mutex::default() }
    }

    pub(crate) fn get(&self, id: &IdempotencyId) -> Option<IdempotencyRecord> {
        self.records.get(id).map(|record| record.clone())
    }

    /// All records, in no particular order.
    pub(crate) fn all(&self) -> impl Iterator<Item = IdempotencyRecord> {
        self.records.iter().map(|record| record.clone())
    }

    pub(crate) fn holds(&self, id: &IdempotencyId) -> bool {
        self.records.contains_key(id)
    }

    /// The number of records of an account.
    pub(crate) fn count(&self, account: AccountId) -> u32 {
        self.counts.get(&account).map_or(0, |count| *count)
    }

    pub(crate) fn put(&self, record: IdempotencyRecord) {
        let (id, expires_at) = (record.id.clone(), record.expires_at);
        let replaced = self.records.insert(id.clone(), record);
        if replaced.is_none() {
            *self.counts.entry(id.account).or_default() += 1;
        }
        let mut by_expiry = self.by_expiry.lock();
        if let Some(replaced) = replaced {
            by_expiry.remove(&(replaced.expires_at, replaced.id));
        }
        by_expiry.insert((expires_at, id));
    }

    /// Removes all records. The caller ensures that no record is changed meanwhile.
    pub(crate) fn clear(&self) {
        self.records.clear();
        self.counts.clear();
        self.by_expiry.lock().clear();
    }

    /// The ids of records that have expired at `now`, the oldest first.
    fn expired(&self, now: Timestamp, max: usize) -> Vec<IdempotencyId> {
        let by_expiry = self.by_expiry.lock();
        let expired = by_expiry.iter().take_while(|(expires_at, _)| *expires_at <= now);
        expired.take(max).map(|(_, id)| id.clone()).collect()
    }

    /// Drops a record, unless it was replaced by one that has not expired. Returns true if the record was dropped.
    fn drop_expired(&self, id: &IdempotencyId, now: Timestamp) -> bool {
        let Some((_, record)) = self.records.remove_if(id, |_, record| record.expires_at <= now) else {
            return false;
        };
        if let Some(mut count) = self.counts.get_mut(&id.account) {
            *count -= 1;
        }
        self.counts.remove_if(&id.account, |_, count| *count == 0);
        self.by_expiry.lock().remove(&(record.expires_at, record.id));
        true
    }

    /// Drops a bounded number of expired records. Returns the number of records dropped.
    pub(crate) fn prune(&self, stripes: &Stripes, now: Timestamp) -> usize {
        let mut dropped = 0;
        for id in self.expired(now, PRUNE_MAX) {
            let _held = stripes.hold(&[RecordRef::Idempotency(id.clone())]);
            dropped += usize::from(self.drop_expired(&id, now));
        }
        dropped
    }
}

#[cfg(test)]
mod tests {
    use petstore_domain::{Fingerprint, IdempotencyKey, IdempotencyScope, Outcome};

    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis).unwrap()
    }

    fn record(expires_at: i64) -> IdempotencyRecord {
        let id = IdempotencyId {
            account: AccountId::FIRST,
            scope: IdempotencyScope::CreatePet,
            key: IdempotencyKey::parse(b"a").unwrap(),
        };
        let (fingerprint, outcome) = (Fingerprint([0; 32]), Outcome::InsufficientStock(0));
        IdempotencyRecord { id, fingerprint, outcome, expires_at: at(expires_at) }
    }

    #[test]
    fn a_record_that_was_replaced_after_the_search_is_not_dropped() {
        let table = IdempotencyTable::new();
        table.put(record(10));
        let expired = table.expired(at(10), 5);
        assert_eq!(expired, [record(10).id]);
        table.put(record(20));
        assert!(!table.drop_expired(&expired[0], at(10)));
        assert_eq!((table.get(&expired[0]), table.count(AccountId::FIRST)), (Some(record(20)), 1));
        // Replacing the record has removed the earlier entry of `by_expiry`.
        assert_eq!(table.by_expiry.lock().len(), 1);
    }

    #[test]
    fn an_account_without_records_has_no_entry() {
        let table = IdempotencyTable::new();
        table.put(record(10));
        assert!(table.drop_expired(&record(10).id, at(10)));
        assert!(!table.drop_expired(&record(10).id, at(10)));
        assert!(table.records.is_empty() && table.counts.is_empty() && table.by_expiry.lock().is_empty());
    }
}
