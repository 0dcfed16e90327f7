//! The petstore's driven ports, which tell the book what passes through them, and change nothing.

use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;

use async_trait::async_trait;
use petstore_domain::{AccountId, Changes, Footprint, KeyRecord, Limit, Timestamp, View};
use petstore_ports::{
    AddressLimits, AddressVerdict, Ask, Batch, BatchNumber, BulkLoad, Cost, Header, Journal, Quotas, Reply,
    Row, StoreError, Transactor, Transition, UsageCount, Verdict,
};
use tokio::sync::Notify;

use crate::book::{ACTOR, Actor, Book, Owner};

/// Who watches, and which process.
#[derive(Clone)]
pub(crate) struct Witness {
    pub(crate) book: Arc<Book>,
    pub(crate) process: u64,
}

fn actor() -> Option<Actor> {
    ACTOR.try_with(|actor| *actor).ok()
}

/// Runs a call that waits for the store's writer, and tells the writer of it.
pub(crate) async fn submit<F: Future>(call: F, work: &Notify) -> F::Output {
    let mut call = pin!(call);
    let mut is_first = true;
    std::future::poll_fn(move |context| {
        let poll = call.as_mut().poll(context);
        if poll.is_pending() && std::mem::take(&mut is_first) {
            work.notify_one();
        }
        poll
    })
    .await
}

/// Writes.
pub(crate) struct WatchedTransactor {
    pub(crate) witness: Witness,
    pub(crate) inner: Arc<dyn Transactor>,
    /// Told that there is something to do.
    pub(crate) work: Arc<Notify>,
}

#[async_trait]
impl Transactor for WatchedTransactor {
    async fn transact(&self, transition: Arc<dyn Transition>) -> Result<(), StoreError> {
        let owner = self.witness.book.handed_over(self.witness.process, actor());
        let watched = WatchedTransition { witness: self.witness.clone(), owner, inner: transition };
        submit(self.inner.transact(Arc::new(watched)), &self.work).await
    }
}

struct WatchedTransition {
    witness: Witness,
    owner: Owner,
    inner: Arc<dyn Transition>,
}

impl Transition for WatchedTransition {
    fn footprint(&self, seen: &View) -> Footprint {
        self.inner.footprint(seen)
    }

    fn decide(&self, view: &View) -> Option<Changes> {
        let changes = self.inner.decide(view);
        self.witness.book.decided(self.witness.process, self.owner, changes.as_ref());
        changes
    }
}

/// Counts.
pub(crate) struct WatchedQuotas {
    pub(crate) witness: Witness,
    pub(crate) inner: Arc<dyn Quotas>,
}

impl Quotas for WatchedQuotas {
    fn take(&self, ask: &Ask) -> Reply<Result<Verdict, StoreError>> {
        let (witness, ask, actor) = (self.witness.clone(), *ask, actor());
        self.inner.take(&ask).map(move |taken| {
            if let Ok(verdict) = &taken {
                witness.book.judged(witness.process, actor, &ask, verdict);
            }
            taken
        })
    }

    fn leave(&self, account: AccountId) {
        self.witness.book.left(self.witness.process, actor(), account.get());
        self.inner.leave(account);
    }
}

/// Counts addresses.
pub(crate) struct WatchedAddresses {
    pub(crate) witness: Witness,
    pub(crate) inner: Arc<dyn AddressLimits>,
}

impl AddressLimits for WatchedAddresses {
    fn take_address(
        &self,
        address: IpAddr,
        limit: Limit,
        cost: Cost,
        now: Timestamp,
    ) -> Reply<Result<AddressVerdict, StoreError>> {
        let (witness, actor) = (self.witness.clone(), actor());
        self.inner.take_address(address, limit, cost, now).map(move |taken| {
            if let Ok(verdict) = &taken {
                witness.book.judged_address(witness.process, actor, address, cost, verdict);
            }
            taken
        })
    }
}

/// Keeps.
pub(crate) struct WatchedJournal {
    pub(crate) witness: Witness,
    pub(crate) inner: Box<dyn Journal>,
}

impl WatchedJournal {
    /// Tells of a failure of anything but a batch.
    fn told<T>(&self, told: Result<T, StoreError>) -> Result<T, StoreError> {
        if told.is_err() {
            self.witness.book.troubled(self.witness.process, None);
        }
        told
    }
}

impl Journal for WatchedJournal {
    fn load(&mut self, into: &mut dyn FnMut(Row) -> Result<(), StoreError>) -> Result<Header, StoreError> {
        self.inner.load(into)
    }

    fn append(&mut self, batch: &Batch<'_>) -> Result<(), StoreError> {
        let appended = self.inner.append(batch);
        let Witness { book, process } = &self.witness;
        match appended {
            Ok(()) => book.committed(*process, batch.number.0, batch.changes.len()),
            Err(_) => book.troubled(*process, Some(batch.number.0)),
        }
        appended
    }

    fn recover(&mut self) -> Result<BatchNumber, StoreError> {
        let recovered = self.inner.recover();
        if let Ok(last) = recovered {
            self.witness.book.recovered(self.witness.process, last.0);
        }
        recovered
    }

    fn note_usage(&mut self, counts: &[UsageCount]) -> Result<(), StoreError> {
        let noted = self.inner.note_usage(counts);
        self.witness.book.noted_usage(self.witness.process, counts, noted.is_ok());
        self.told(noted)
    }

    fn note_bans(&mut self, keys: &[KeyRecord]) -> Result<(), StoreError> {
        let noted = self.inner.note_bans(keys);
        if noted.is_ok() {
            self.witness.book.noted_bans(self.witness.process, keys);
        }
        self.told(noted)
    }

    fn prune(&mut self, now: Timestamp) -> Result<usize, StoreError> {
        let pruned = self.inner.prune(now);
        self.witness.book.pruned(self.witness.process, now.as_millis(), pruned.is_ok());
        self.told(pruned)
    }

    fn bulk(&mut self, bulk: &BulkLoad, rows: &mut dyn Iterator<Item = Row>) -> Result<(), StoreError> {
        self.inner.bulk(bulk, rows)
    }
}
