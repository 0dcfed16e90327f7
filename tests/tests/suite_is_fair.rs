//! The suite is fair. A store that satisfies the ports in another way than the reference store also passes the suite.

use std::collections::HashMap;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use petstore_domain::{Changes, Footprint, IdKind, KeyDigest, KeyId, KeyRecord, Limit, Timestamp, View};
use petstore_ports::{
    AccountDirectory, AddressLimits, AddressVerdict, Cost, Credential, KeyLookup, KeyReader, Reply,
    StoreError, Transactor, Transition,
};
use petstore_tests::{ReferenceStore, Subject, addresses, run_case, store_conformance};

mod with_gaps {
    use super::*;

    store_conformance!({
        let store = Arc::new(ReferenceStore::new());
        Subject { transactor: Arc::new(WithGaps(Arc::clone(&store))), ..Subject::of(&store) }
    });
}

mod stale_keys {
    use super::*;

    store_conformance!({
        let store = Arc::new(ReferenceStore::new());
        Subject { keys: Arc::new(StaleKeyReader::of(&store)), ..Subject::of(&store) }
    });
}

mod optimistic {
    use super::*;

    store_conformance!({
        let store = Arc::new(ReferenceStore::new());
        Subject { transactor: Arc::new(Optimistic(Arc::clone(&store))), ..Subject::of(&store) }
    });
}

/// A store that, before each transition, draws an id of each kind and discards it.
struct WithGaps(Arc<ReferenceStore>);

/// A transition that takes an id of each kind and writes nothing.
struct TakesIds;

impl Transition for TakesIds {
    fn footprint(&self, _seen: &View) -> Footprint {
        let mut ids = Footprint::default();
        for kind in IdKind::ALL {
            ids.add(kind.reference());
        }
        ids
    }

    fn decide(&self, _view: &View) -> Option<Changes> {
        None
    }
}

#[async_trait]
impl Transactor for WithGaps {
    async fn transact(&self, transition: Arc<dyn Transition>) -> Result<(), StoreError> {
        self.0.transact(Arc::new(TakesIds)).await?;
        self.0.transact(transition).await
    }
}

/// A store that decides without a lock, and retries if the records that it read have changed.
struct Optimistic(Arc<ReferenceStore>);

/// A transition that loads the footprint of another transition and keeps the view.
struct LoadView {
    transition: Arc<dyn Transition>,
    seen: Mutex<View>,
}

impl Transition for LoadView {
    fn footprint(&self, seen: &View) -> Footprint {
        self.transition.footprint(seen)
    }

    fn decide(&self, view: &View) -> Option<Changes> {
        *self.seen.lock().unwrap() = view.clone();
        None
    }
}

/// A transition that writes a decision if the records of its view are unchanged.
struct WriteIfUnchanged {
    /// The records of the view without the next ids, which are unique to this transition.
    records: Footprint,
    seen: View,
    changes: Changes,
    is_stale: AtomicBool,
}

impl Transition for WriteIfUnchanged {
    fn footprint(&self, _seen: &View) -> Footprint {
        self.records.clone()
    }

    fn decide(&self, view: &View) -> Option<Changes> {
        let is_stale = !self.records.records().iter().all(|record| view.agrees(&self.seen, record));
        self.is_stale.store(is_stale, Ordering::SeqCst);
        (!is_stale).then(|| self.changes.clone())
    }
}

#[async_trait]
impl Transactor for Optimistic {
    async fn transact(&self, transition: Arc<dyn Transition>) -> Result<(), StoreError> {
        loop {
            let look = Arc::new(LoadView { transition: Arc::clone(&transition), seen: Mutex::default() });
            self.0.transact(Arc::clone(&look) as _).await?;
            let seen = look.seen.lock().unwrap().clone();
            let decided = catch_unwind(AssertUnwindSafe(|| transition.decide(&seen)));
            let Some(changes) = decided.map_err(|_| StoreError::corrupt("it panicked"))? else {
                return Ok(());
            };
            let mut records = Footprint::default();
            let looked_at = transition.footprint(&seen);
            looked_at
                .records()
                .iter()
                .filter(|record| record.id_kind().is_none())
                .for_each(|record| records.add(record.clone()));
            let write =
                Arc::new(WriteIfUnchanged { records, seen, changes, is_stale: AtomicBool::new(false) });
            self.0.transact(Arc::clone(&write) as _).await?;
            if !write.is_stale.load(Ordering::SeqCst) {
                return Ok(());
            }
        }
    }
}

/// A key reader that finds keys in a cached copy. It replaces the copy every [`StaleKeyReader::READS`] reads.
struct StaleKeyReader {
    store: Arc<ReferenceStore>,
    cache: Arc<Mutex<KeyCache>>,
}

#[derive(Default)]
struct KeyCache {
    reads: usize,
    keys: HashMap<KeyId, (KeyDigest, Credential)>,
}

impl StaleKeyReader {
    const READS: usize = 50;

    fn of(store: &Arc<ReferenceStore>) -> Self {
        Self { store: Arc::clone(store), cache: Arc::default() }
    }
}

impl KeyReader for StaleKeyReader {
    fn credential(&self, name: KeyLookup) -> Reply<Result<Option<Credential>, StoreError>> {
        let (store, cache) = (Arc::clone(&self.store), Arc::clone(&self.cache));
        Reply::later(async move {
            let reads = {
                let mut cache = cache.lock().unwrap();
                cache.reads += 1;
                cache.reads
            };
            if reads.is_multiple_of(Self::READS) {
                let accounts = store.accounts(None, usize::MAX).await?;
                let plain = |key: KeyRecord| {
                    let owner = accounts.iter().find(|account| account.id == key.account)?;
                    Some((key.id, (key.digest, Credential::new(&key, owner))))
                };
                let keys = store.keys(None, usize::MAX).await?.into_iter().filter_map(plain).collect();
                cache.lock().unwrap().keys = keys;
            }
            let cache = cache.lock().unwrap();
            let found = match name {
                KeyLookup::Id(id) => cache.keys.get(&id),
                KeyLookup::Digest(digest) => cache.keys.values().find(|(other, _)| *other == digest),
            };
            Ok(found.map(|(_, credential)| *credential))
        })
    }
}

/// Address limits that are slow for each address, and record the maximum number of concurrent callers.
struct SlowAddresses {
    store: Arc<ReferenceStore>,
    waiting: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl AddressLimits for SlowAddresses {
    fn take_address(
        &self,
        address: IpAddr,
        limit: Limit,
        cost: Cost,
        now: Timestamp,
    ) -> Reply<Result<AddressVerdict, StoreError>> {
        let (store, waiting, most) =
            (Arc::clone(&self.store), Arc::clone(&self.waiting), Arc::clone(&self.most));
        Reply::later(async move {
            most.fetch_max(waiting.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            waiting.fetch_sub(1, Ordering::SeqCst);
            store.take_address(address, limit, cost, now).await
        })
    }
}

#[test]
fn the_flood_case_calls_a_slow_store_concurrently() {
    let most = Arc::new(AtomicUsize::new(0));
    run_case(async {
        let store = Arc::new(ReferenceStore::new());
        let addresses =
            SlowAddresses { store: Arc::clone(&store), waiting: Arc::default(), most: Arc::clone(&most) };
        let subject = Subject { addresses: Arc::new(addresses), ..Subject::of(&store) };
        addresses::a_flood_of_addresses_grants_no_extra_requests(&subject).await;
    });
    // One after the other, a hundred thousand calls of two milliseconds would exceed the deadline of a case.
    assert!(most.load(Ordering::SeqCst) >= 16, "{most:?} at once");
}
