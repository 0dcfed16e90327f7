//! Faulty readers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use petstore_domain::{KeyId, PetId, PetRecord};
use petstore_ports::{
    Credential, KeyLookup, KeyReader, PageEnd, PageRequest, PetFilter, PetReader, PetSink, Reply,
    SortDirection, StoreError,
};

use super::Bug;

/// A key reader that caches every result.
pub(crate) struct CachedKeys {
    inner: Arc<dyn KeyReader>,
    kept: Arc<Mutex<BTreeMap<KeyId, Credential>>>,
}

impl CachedKeys {
    pub(crate) fn new(inner: Arc<dyn KeyReader>) -> Self {
        Self { inner, kept: Arc::default() }
    }
}

impl KeyReader for CachedKeys {
    fn credential(&self, name: KeyLookup) -> Reply<Result<Option<Credential>, StoreError>> {
        let kept = Arc::clone(&self.kept);
        self.inner.credential(name).map(move |found| {
            let found = found?;
            let mut kept = kept.lock().expect("no thread panics while it holds the lock");
            Ok(found.map(|credential| *kept.entry(credential.key).or_insert(credential)))
        })
    }
}

/// A pet reader with stale results, or one that skips an item.
pub(crate) struct FaultyPets {
    bug: Bug,
    inner: Arc<dyn PetReader>,
    seen: Arc<Mutex<BTreeMap<PetId, PetRecord>>>,
}

impl FaultyPets {
    pub(crate) fn new(bug: Bug, inner: Arc<dyn PetReader>) -> Self {
        Self { bug, inner, seen: Arc::default() }
    }
}

#[async_trait]
impl PetReader for FaultyPets {
    fn pet(&self, id: PetId) -> Reply<Result<Option<PetRecord>, StoreError>> {
        if self.bug != Bug::ReadsStale {
            return self.inner.pet(id);
        }
        if let Some(seen) = self.seen.lock().expect("no thread panics while it holds the lock").remove(&id) {
            return Reply::now(Ok(Some(seen)));
        }
        let seen = Arc::clone(&self.seen);
        self.inner.pet(id).map(move |found| {
            let found = found?;
            if let Some(record) = &found {
                seen.lock().expect("no thread panics while it holds the lock").insert(id, record.clone());
            }
            Ok(found)
        })
    }

    async fn pets<'a>(
        &self,
        filter: &PetFilter,
        page: &PageRequest,
        sink: PetSink<'a>,
    ) -> Result<PageEnd, StoreError> {
        let skips = self.bug == Bug::SkipsAtPages && page.order == SortDirection::Ascending;
        let after = if skips { page.after.map(|after| after + 1) } else { page.after };
        self.inner.pets(filter, &PageRequest { after, ..*page }, sink).await
    }
}
