//! The table of keys, and how each behaves.

use dashmap::DashMap;
use foldhash::fast::RandomState;
use parking_lot::RwLock;
use petstore_domain::{Ban, KeyDigest, KeyId, KeyRecord};
use petstore_ports::PageRequest;

use crate::census::Census;
use crate::ids::IdCounter;
use crate::meters::{KeyMeter, Meters};
use crate::page;
use crate::search::leap;
use crate::slab::{Slab, slot};

/// Keys; found by id and by the digest of their secret. They are never removed: a revoked one still says so.
pub(crate) struct Keys {
    pub(crate) ids: IdCounter,
    pub(crate) meters: Meters<KeyMeter>,
    records: Slab<KeyRecord>,
    census: RwLock<Census<0>>,
    by_digest: DashMap<KeyDigest, KeyId, RandomState>,
}

impl Keys {
    pub(crate) fn new() -> Self {
        Self {
            ids: IdCounter::default(),
            meters: Meters::new(),
            records: Slab::new(),
            census: RwLock::default(),
            by_digest: DashMap::default(),
        }
    }

    pub(crate) fn get(&self, id: KeyId) -> Option<KeyRecord> {
        self.read(id, KeyRecord::clone)
    }

    /// What `read` takes from the key. It must be short.
    pub(crate) fn read<R>(&self, id: KeyId, read: impl FnOnce(&KeyRecord) -> R) -> Option<R> {
        self.records.read(slot(id.get())?, read)
    }

    pub(crate) fn id_of(&self, digest: &KeyDigest) -> Option<KeyId> {
        self.by_digest.get(digest).map(|id| *id)
    }

    pub(crate) fn put(&self, slot: u32, record: KeyRecord) {
        let (id, ban) = (record.id, record.ban);
        self.ids.skip_to(id.get());
        // A secret belongs to the same key for ever, so this entry only ever comes.
        self.by_digest.insert(record.digest, id);
        self.census.write().add(slot);
        let before = self.records.write(slot, Some(record));
        if before.and_then(|before| before.ban) != ban {
            self.meters.of(slot).reset(ban);
        }
    }

    /// Bans a key for what it did. The caller holds its name.
    pub(crate) fn ban(&self, slot: u32, ban: Ban) {
        self.records.update(slot, |record| record.ban = Some(ban));
        self.meters.of(slot).ban(ban);
    }

    pub(crate) fn page(&self, page: &PageRequest) -> Vec<KeyRecord> {
        let mut keys = Vec::new();
        let candidates = |walk, max| leap(&[self.census.read().all()], walk, max);
        page::fill(page, &self.records, candidates, |_| true, |key| keys.push(key.clone()));
        keys
    }
}
