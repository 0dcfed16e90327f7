//! The table of keys, and how each behaves.

use std::sync::atomic::{AtomicU64, Ordering};

use dashmap::DashMap;
use foldhash::fast::RandomState;
use parking_lot::RwLock;
use petstore_domain::{Ban, KeyDigest, KeyId, KeyRecord, RecordRef};
use petstore_ports::PageRequest;

use crate::ids::IdCounter;
use crate::index_search::scan;
use crate::meters::{KeyMeter, Meters};
use crate::page;
use crate::slab::{Slab, slot};
use crate::state_index::StateIndex;
use crate::stripes::Stripes;
use crate::terms::Terms;
use crate::unnoted::Unnoted;

/// Keys; found by id and by the digest of their secret. They are never removed: a revoked one still says so.
pub(crate) struct Keys {
    pub(crate) ids: IdCounter,
    pub(crate) meters: Meters<KeyMeter>,
    unnoted: Unnoted<KeyId>,
    /// Bans that have begun since the store was opened.
    bans: AtomicU64,
    records: Slab<KeyRecord>,
    state_index: RwLock<StateIndex<0>>,
    by_digest: DashMap<KeyDigest, KeyId, RandomState>,
}

impl Keys {
    pub(crate) fn new() -> Self {
        Self {
            ids: IdCounter::default(),
            meters: Meters::new(),
            unnoted: Unnoted::new(),
            bans: AtomicU64::new(0),
            records: Slab::new(),
            state_index: RwLock::default(),
            by_digest: DashMap::default(),
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u64 {
        self.state_index.read().all().len()
    }

    /// How many bans have begun.
    pub(crate) fn bans(&self) -> u64 {
        self.bans.load(Ordering::Relaxed)
    }

    pub(crate) fn get(&self, id: KeyId) -> Option<KeyRecord> {
        self.read(id, KeyRecord::clone)
    }

    /// What `read` takes from the key. It must be short, and take no other lock.
    pub(crate) fn read<R>(&self, id: KeyId, read: impl FnOnce(&KeyRecord) -> R) -> Option<R> {
        self.records.read(slot(id.get())?, read)
    }

    /// The terms of the key.
    pub(crate) fn terms(&self, id: KeyId) -> Option<Terms> {
        self.meters.find(slot(id.get())?)?.terms.get()
    }

    pub(crate) fn id_of(&self, digest: &KeyDigest) -> Option<KeyId> {
        self.by_digest.get(digest).map(|id| *id)
    }

    pub(crate) fn put(&self, slot: u32, record: KeyRecord) {
        let (id, ban) = (record.id, record.ban);
        self.ids.advance_to(id.get());
        // A secret belongs to the same key for ever, so this entry only ever comes.
        self.by_digest.insert(record.digest, id);
        self.state_index.write().add(slot);
        let meter = self.meters.of(slot);
        meter.terms.set(&record);
        let before = self.records.write(slot, Some(record));
        if before.and_then(|before| before.ban) != ban {
            meter.set_ban(ban);
        }
    }

    /// Bans a key for what it did. The caller holds its name.
    pub(crate) fn ban(&self, slot: u32, key: KeyId, ban: Ban) {
        self.bans.fetch_add(1, Ordering::Relaxed);
        self.records.update(slot, |record| record.ban = Some(ban));
        let meter = self.meters.of(slot);
        meter.set_ban(Some(ban));
        meter.keep_unnoted(key, &self.unnoted);
    }

    /// Up to so many keys that were banned since that was last noted.
    pub(crate) fn unnoted_bans(&self, max: usize) -> Vec<KeyRecord> {
        let keys = self.unnoted.take(max);
        let banned = keys.into_iter().filter_map(|key| {
            self.meters.of(slot(key.get())?).note();
            self.get(key)
        });
        banned.collect()
    }

    /// The bans of these keys could not be noted.
    pub(crate) fn keep_unnoted(&self, keys: &[KeyRecord]) {
        for key in keys {
            if let Some(slot) = slot(key.id.get()) {
                self.meters.of(slot).keep_unnoted(key.id, &self.unnoted);
            }
        }
    }

    /// Lifts the bans of which this is said, those that are over too, and forgets every strike.
    pub(crate) fn forget_bans(&self, stripes: &Stripes, goes: impl Fn(Ban) -> bool) {
        let all: Vec<u32> = self.state_index.read().all().iter().collect();
        for slot in all {
            let Ok(key) = KeyId::new(slot.into()) else { continue };
            let _held = stripes.hold(&[RecordRef::Key(key)]);
            let meter = self.meters.of(slot);
            let ban = self.records.read(slot, |record| record.ban).flatten();
            let kept = ban.filter(|ban| !goes(*ban));
            meter.set_ban(kept);
            if kept != ban {
                self.records.update(slot, |record| record.ban = kept);
                meter.keep_unnoted(key, &self.unnoted);
            }
        }
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
