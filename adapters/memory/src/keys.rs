//! The table of keys, with the strikes and bans of each key.

use std::sync::atomic::{AtomicU64, Ordering};

use dashmap::DashMap;
use foldhash::fast::RandomState;
use parking_lot::RwLock;
use petstore_domain::{AccountId, KeyDigest, KeyId, KeyRecord, Scope, Timestamp, Usage};
use petstore_ports::{Ask, PageRequest, RecordedBan, SortDirection, Verdict};

use crate::ids::IdCounter;
use crate::index_search::scan;
use crate::owner_index::OwnerIndex;
use crate::packed_credentials::KeyFields;
use crate::page;
use crate::slab::{self, Slab, slot};
use crate::state_index::StateIndex;
use crate::usage_meters::{KeyMeter, UsageMeters};

/// Keys, found by id and by the digest of their secret. They are never removed: a revoked key is refused as revoked.
pub(crate) struct Keys {
    pub(crate) ids: IdCounter,
    pub(crate) meters: UsageMeters<KeyMeter>,
    /// Number of bans that have begun since the store was opened.
    bans: AtomicU64,
    records: Slab<KeyRecord>,
    state_index: RwLock<StateIndex<0>>,
    by_digest: DashMap<KeyDigest, KeyId, RandomState>,
    by_account: OwnerIndex,
}

impl Keys {
    pub(crate) fn new() -> Self {
        Self {
            ids: IdCounter::default(),
            meters: UsageMeters::new(),
            bans: AtomicU64::new(0),
            records: Slab::new(),
            state_index: RwLock::default(),
            by_digest: DashMap::default(),
            by_account: OwnerIndex::new(),
        }
    }

    /// The number of keys.
    pub(crate) fn len(&self) -> u64 {
        self.state_index.read().all().len()
    }

    /// The number of bans that have begun since the store was opened.
    pub(crate) fn bans(&self) -> u64 {
        self.bans.load(Ordering::Relaxed)
    }

    pub(crate) fn get(&self, id: KeyId) -> Option<KeyRecord> {
        self.read(id, KeyRecord::clone)
    }

    /// Applies `read` to the key. The record is locked meanwhile, so `read` must be short, and take no other lock.
    pub(crate) fn read<R>(&self, id: KeyId, read: impl FnOnce(&KeyRecord) -> R) -> Option<R> {
        self.records.read(slot(id.get())?, read)
    }

    /// The packed credential fields of the key.
    pub(crate) fn credential(&self, id: KeyId) -> Option<KeyFields> {
        self.meters.find(slot(id.get())?)?.credential.get()
    }

    pub(crate) fn id_of(&self, digest: &KeyDigest) -> Option<KeyId> {
        self.by_digest.get(digest).map(|id| *id)
    }

    /// Returns whether the account has a key that may be used for a scope.
    pub(crate) fn grant(&self, account: AccountId, scope: Scope, now: Timestamp) -> bool {
        let grants = |slot| {
            let fields = self.meters.find(slot).and_then(|meter| meter.credential.get());
            fields.is_some_and(|fields| fields.grants(scope, now))
        };
        // The newest keys are the ones in use.
        let found = slot(account.get()).and_then(|owner| {
            self.by_account.search(owner, |slots| {
                let mut next = slots.seek(SortDirection::Descending);
                let newest = next(u32::MAX);
                std::iter::successors(newest, |last| next(last.checked_sub(1)?)).any(grants)
            })
        });
        found.unwrap_or_default()
    }

    pub(crate) fn put(&self, slot: u32, record: KeyRecord) {
        let id = record.id;
        self.ids.advance_to(id.get());
        // The secret of a key never changes, so an entry is never removed.
        self.by_digest.insert(record.digest, id);
        // The account of a key never changes either.
        if let Some(owner) = slab::slot(record.account.get()) {
            self.by_account.add(owner, slot);
        }
        self.state_index.write().add(slot);
        let meter = self.meters.of(slot);
        meter.credential.set(&record);
        let before = self.records.read(slot, RecordedBan::of).unwrap_or_default();
        if before != RecordedBan::of(&record) {
            meter.follow(&record);
        }
        self.records.write(slot, Some(record));
    }

    /// Counts a request that a window refused. It counts as a strike of its key or, if no strike is left, begins a ban.
    pub(crate) fn strike(&self, meter: &KeyMeter, ask: &Ask, usage: Usage) -> Verdict {
        let (verdict, is_begun) = meter.strike(ask, usage);
        if is_begun {
            self.bans.fetch_add(1, Ordering::Relaxed);
        }
        verdict
    }

    /// Returns the records of the keys that have a ban, recorded or not. The returned records have no ban.
    pub(crate) fn without_bans(&self) -> Vec<KeyRecord> {
        self.changed(|key, meter| {
            let begun = meter.ban_since();
            key.forget_ban();
            key.ban_lifted_at = key.ban_lifted_at.max(begun);
        })
    }

    /// Returns the records of the keys whose ban or last lift (the end of a ban by an operator) is later than `now`.
    /// The returned records lack that ban or lift.
    pub(crate) fn without_bans_after(&self, now: Timestamp) -> Vec<KeyRecord> {
        self.changed(|key, _| {
            key.ban = key.ban.filter(|ban| !ban.is_ahead_of(now));
            key.ban_lifted_at = key.ban_lifted_at.filter(|lift| *lift <= now);
        })
    }

    /// Applies `change` to a copy of each key, and returns the copies that differ.
    fn changed(&self, change: impl Fn(&mut KeyRecord, &KeyMeter)) -> Vec<KeyRecord> {
        let keys = self.all().into_iter().filter_map(|slot| {
            let before = self.records.read(slot, KeyRecord::clone)?;
            let mut after = before.clone();
            change(&mut after, self.meters.of(slot));
            (after != before).then_some(after)
        });
        keys.collect()
    }

    pub(crate) fn forget_strikes(&self) {
        self.all().into_iter().for_each(|slot| self.meters.of(slot).forget_strikes());
    }

    /// Forgets all strikes, and every ban or lift that is not in the record of its key.
    pub(crate) fn begin_with_records(&self) {
        for slot in self.all() {
            let meter = self.meters.of(slot);
            self.records.read(slot, |record| meter.begin_with(record));
        }
    }

    fn all(&self) -> Vec<u32> {
        self.state_index.read().all().iter().collect()
    }

    pub(crate) fn page(&self, page: &PageRequest) -> Vec<KeyRecord> {
        let mut keys = Vec::new();
        let candidates = |cursor, max| scan(self.state_index.read().all(), cursor, max);
        page::fill(
            page,
            &self.records,
            candidates,
            |_| true,
            &|| true,
            |key: &KeyRecord| keys.push(key.clone()),
        );
        keys
    }
}
