//! The suite is fair: a store that keeps the ports' promises in another way than the reference passes, too.

use std::collections::HashMap;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use petstore_domain::{Changes, Footprint, KeyDigest, KeyId, KeyRecord, Limit, Name, Timestamp, View};
use petstore_ports::{
    AccountDirectory, AddressLimits, AddressVerdict, Cost, Credential, KeyName, KeyReader, Reply, StoreError,
    Transactor, Transition,
};
use petstore_tests::{ReferenceStore, Subject, addresses, run_case, store_conformance};

mod with_gaps {
    use super::*;

    store_conformance!({
        let store = Arc::new(ReferenceStore::new());
        Subject { transactor: Arc::new(WithGaps(Arc::clone(&store))), ..Subject::of(&store) }
    });
}

mod late {
    use super::*;

    store_conformance!({
        let store = Arc::new(ReferenceStore::new());
        Subject { keys: Arc::new(Late::of(&store)), ..Subject::of(&store) }
    });
}

mod optimistic {
    use super::*;

    store_conformance!({
        let store = Arc::new(ReferenceStore::new());
        Subject { transactor: Arc::new(Optimistic(Arc::clone(&store))), ..Subject::of(&store) }
    });
}

/// Gives an id of each kind to nobody before each transition.
struct WithGaps(Arc<ReferenceStore>);

/// Takes an id of each kind, and writes nothing.
struct TakesIds;

impl Transition for TakesIds {
    fn footprint(&self, _seen: &View) -> Footprint {
        [Name::NextPet, Name::NextCategory, Name::NextOrder, Name::NextAccount, Name::NextKey].into()
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

/// Decides without a lock, and begins again if what it has seen holds no more.
struct Optimistic(Arc<ReferenceStore>);

/// Loads what a transition names, and keeps it.
struct Look {
    transition: Arc<dyn Transition>,
    seen: Mutex<View>,
}

impl Transition for Look {
    fn footprint(&self, seen: &View) -> Footprint {
        self.transition.footprint(seen)
    }

    fn decide(&self, view: &View) -> Option<Changes> {
        *self.seen.lock().unwrap() = view.clone();
        None
    }
}

/// Writes what was decided, if what was seen still holds.
struct Write {
    /// Whatever has been seen, fresh ids apart: those are nobody else's.
    names: Footprint,
    seen: View,
    changes: Changes,
    is_stale: AtomicBool,
}

impl Transition for Write {
    fn footprint(&self, _seen: &View) -> Footprint {
        self.names.clone()
    }

    fn decide(&self, view: &View) -> Option<Changes> {
        let is_stale = !self.names.names().iter().all(|name| is_same(name, view, &self.seen));
        self.is_stale.store(is_stale, Ordering::SeqCst);
        (!is_stale).then(|| self.changes.clone())
    }
}

fn is_fresh_id(name: &Name) -> bool {
    matches!(name, Name::NextPet | Name::NextCategory | Name::NextOrder | Name::NextAccount | Name::NextKey)
}

fn is_same(name: &Name, now: &View, then: &View) -> bool {
    match name {
        Name::Pet(id) => now.pet(*id) == then.pet(*id),
        Name::Category(id) => now.category(*id) == then.category(*id),
        Name::CategoryName(name) => now.category_named(name) == then.category_named(name),
        Name::Order(id) => now.order(*id) == then.order(*id),
        Name::Account(id) => now.account(*id) == then.account(*id),
        Name::AccountName(name) => now.account_named(name) == then.account_named(name),
        Name::Key(id) => now.key(*id) == then.key(*id),
        Name::Retry(name) => now.retry(name) == then.retry(name),
        _ => is_fresh_id(name),
    }
}

#[async_trait]
impl Transactor for Optimistic {
    async fn transact(&self, transition: Arc<dyn Transition>) -> Result<(), StoreError> {
        loop {
            let look = Arc::new(Look { transition: Arc::clone(&transition), seen: Mutex::default() });
            self.0.transact(Arc::clone(&look) as _).await?;
            let seen = look.seen.lock().unwrap().clone();
            let decided = catch_unwind(AssertUnwindSafe(|| transition.decide(&seen)));
            let Some(changes) = decided.map_err(|_| StoreError::corrupt("it panicked"))? else {
                return Ok(());
            };
            let mut names = Footprint::default();
            let looked_at = transition.footprint(&seen);
            looked_at
                .names()
                .iter()
                .filter(|name| !is_fresh_id(name))
                .for_each(|name| names.add(name.clone()));
            let write = Arc::new(Write { names, seen, changes, is_stale: AtomicBool::new(false) });
            self.0.transact(Arc::clone(&write) as _).await?;
            if !write.is_stale.load(Ordering::SeqCst) {
                return Ok(());
            }
        }
    }
}

/// Finds keys in a copy of them, which every so many looks is made anew.
struct Late {
    store: Arc<ReferenceStore>,
    copy: Arc<Mutex<Copied>>,
}

#[derive(Default)]
struct Copied {
    looks: usize,
    keys: HashMap<KeyId, (KeyDigest, Credential)>,
}

impl Late {
    const LOOKS: usize = 50;

    fn of(store: &Arc<ReferenceStore>) -> Self {
        Self { store: Arc::clone(store), copy: Arc::default() }
    }
}

impl KeyReader for Late {
    fn credential(&self, name: KeyName) -> Reply<Result<Option<Credential>, StoreError>> {
        let (store, copy) = (Arc::clone(&self.store), Arc::clone(&self.copy));
        Reply::later(async move {
            let looks = {
                let mut copy = copy.lock().unwrap();
                copy.looks += 1;
                copy.looks
            };
            if looks.is_multiple_of(Self::LOOKS) {
                let accounts = store.accounts(None, usize::MAX).await?;
                let plain = |key: KeyRecord| {
                    let owner = accounts.iter().find(|account| account.id == key.account)?;
                    Some((key.id, (key.digest, Credential::new(&key, owner))))
                };
                let keys = store.keys(None, usize::MAX).await?.into_iter().filter_map(plain).collect();
                copy.lock().unwrap().keys = keys;
            }
            let copy = copy.lock().unwrap();
            let found = match name {
                KeyName::Id(id) => copy.keys.get(&id),
                KeyName::Digest(digest) => copy.keys.values().find(|(other, _)| *other == digest),
            };
            Ok(found.map(|(_, credential)| *credential))
        })
    }
}

/// Takes its time over each address, and notes how many callers waited at once.
struct Slow {
    store: Arc<ReferenceStore>,
    waiting: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl AddressLimits for Slow {
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
fn a_flood_waits_for_a_slow_store_side_by_side() {
    let most = Arc::new(AtomicUsize::new(0));
    run_case(async {
        let store = Arc::new(ReferenceStore::new());
        let addresses = Slow { store: Arc::clone(&store), waiting: Arc::default(), most: Arc::clone(&most) };
        let subject = Subject { addresses: Arc::new(addresses), ..Subject::of(&store) };
        addresses::a_flood_of_addresses_grants_nothing(&subject).await;
    });
    // One after the other, a hundred thousand calls of two milliseconds are more than a case may take.
    assert!(most.load(Ordering::SeqCst) >= 16, "{most:?} at once");
}
