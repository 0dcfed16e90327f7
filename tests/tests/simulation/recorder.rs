//! The petstore's driven ports, in wrappers that report every call to the oracle and pass it on unchanged.

use std::net::IpAddr;
use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;

use async_trait::async_trait;
use petstore_domain::{
    AccountId, ApiKey, Change, Changes, Footprint, KeyDigest, KeyId, KeyLabel, KeyRecord, Limit, Limits,
    RecordRef, Scopes, Timestamp, Usage, View,
};
use petstore_ports::{
    AddressLimits, AddressVerdict, Ask, Batch, BatchNumber, BulkLoad, Cost, DeliveryNote, EventBatch,
    EventBatchReader, EventBounds, EventLimits, EventRange, EventsPruned, Header, Journal, Quotas, Reply,
    Row, StoreError, Transactor, Transition, UsageCount, Verdict,
};
use tokio::sync::Notify;

use crate::model::accounts::Ban;
use crate::model::rows;
use crate::oracle::{ACTOR, Actor, Oracle, Owner};

/// The oracle, and the number of the process that reports to it.
#[derive(Clone)]
pub(crate) struct Recorder {
    pub(crate) oracle: Arc<Oracle>,
    pub(crate) process: u64,
}

pub(crate) fn actor() -> Option<Actor> {
    ACTOR.try_with(|actor| *actor).ok()
}

/// Runs a call. If it must wait for the store's writer, the writer is notified.
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

/// A transactor that reports every write.
pub(crate) struct WatchedTransactor {
    pub(crate) recorder: Recorder,
    pub(crate) inner: Arc<dyn Transactor>,
    /// Notified when there is work for the writer.
    pub(crate) work: Arc<Notify>,
}

#[async_trait]
impl Transactor for WatchedTransactor {
    async fn transact(&self, transition: Arc<dyn Transition>) -> Result<(), StoreError> {
        let owner = match recorded_ban(&*transition) {
            Some((key, ban)) => Owner::Ban(key, ban),
            None => self.recorder.oracle.handed_over(self.recorder.process, actor()),
        };
        let watched = WatchedTransition { recorder: self.recorder.clone(), owner, inner: transition };
        submit(self.inner.transact(Arc::new(watched)), &self.work).await
    }
}

/// The key and the ban of a transition that only records a ban. Such a transition is recognised by its result for a key
/// without a ban, because no other transition adds a ban to such a key.
fn recorded_ban(transition: &dyn Transition) -> Option<(u64, Ban)> {
    let footprint = transition.footprint(&View::default());
    let [RecordRef::Key(id)] = footprint.records() else { return None };
    let mut view = View::default();
    view.load_key(*id, Some(unbanned(*id)));
    let changes = transition.decide(&view)?;
    let [Change::Key(key)] = changes.as_slice() else { return None };
    key.ban.map(|ban| (id.get(), rows::ban(ban)))
}

fn unbanned(id: KeyId) -> KeyRecord {
    let secret = ApiKey::from_entropy([0; 32]);
    KeyRecord {
        id,
        account: AccountId::FIRST,
        digest: KeyDigest([0; 32]),
        prefix: secret.display_prefix(),
        label: KeyLabel::parse("").expect("short"),
        scopes: Scopes::DEFAULT,
        created_at: Timestamp::EPOCH,
        expires_at: None,
        replaced_until: None,
        revoked_at: None,
        ban: None,
        ban_lifted_at: None,
    }
}

struct WatchedTransition {
    recorder: Recorder,
    owner: Owner,
    inner: Arc<dyn Transition>,
}

impl Transition for WatchedTransition {
    fn footprint(&self, seen: &View) -> Footprint {
        self.inner.footprint(seen)
    }

    fn decide(&self, view: &View) -> Option<Changes> {
        let changes = self.inner.decide(view);
        self.recorder.oracle.decided(self.recorder.process, self.owner, changes.as_ref());
        changes
    }
}

/// A port for the quotas that reports every verdict.
pub(crate) struct WatchedQuotas {
    pub(crate) recorder: Recorder,
    pub(crate) inner: Arc<dyn Quotas>,
}

impl Quotas for WatchedQuotas {
    fn take(&self, ask: &Ask) -> Reply<Result<Verdict, StoreError>> {
        let (recorder, ask, actor) = (self.recorder.clone(), *ask, actor());
        self.inner.take(&ask).map(move |taken| {
            if let Ok(verdict) = &taken {
                recorder.oracle.judged(recorder.process, actor, &ask, verdict);
            }
            taken
        })
    }

    fn usage(&self, account: AccountId, limits: Limits, now: Timestamp) -> Reply<Result<Usage, StoreError>> {
        let (recorder, actor) = (self.recorder.clone(), actor());
        self.inner.usage(account, limits, now).map(move |told| {
            if let Ok(usage) = &told {
                recorder.oracle.judged_too_many(recorder.process, actor, (account, limits, now), usage);
            }
            told
        })
    }
}

/// A port for the limits of addresses that reports every verdict.
pub(crate) struct WatchedAddresses {
    pub(crate) recorder: Recorder,
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
        let (recorder, actor) = (self.recorder.clone(), actor());
        self.inner.take_address(address, limit, cost, now).map(move |taken| {
            if let Ok(verdict) = &taken {
                recorder.oracle.judged_address(recorder.process, actor, address, cost, verdict);
            }
            taken
        })
    }
}

/// A journal that reports every call.
pub(crate) struct WatchedJournal {
    pub(crate) recorder: Recorder,
    pub(crate) inner: Box<dyn Journal>,
}

impl WatchedJournal {
    /// Reports a failure of any call but `append`.
    fn told<T>(&self, told: Result<T, StoreError>) -> Result<T, StoreError> {
        if told.is_err() {
            self.recorder.oracle.failing(self.recorder.process, None);
        }
        told
    }
}

impl Journal for WatchedJournal {
    fn load(&mut self, into: &mut dyn FnMut(Row) -> Result<(), StoreError>) -> Result<Header, StoreError> {
        self.inner.load(into)
    }

    fn read_events(
        &mut self,
        range: &EventRange,
        into: &mut dyn FnMut(EventBatch<'_>) -> ControlFlow<()>,
    ) -> Result<EventBounds, StoreError> {
        self.inner.read_events(range, into)
    }

    fn accept(&mut self) -> Result<(), StoreError> {
        self.inner.accept()
    }

    fn awaits_acceptance(&self) -> bool {
        self.inner.awaits_acceptance()
    }

    fn append(&mut self, batch: &Batch<'_>) -> Result<(), StoreError> {
        let appended = self.inner.append(batch);
        let Recorder { oracle, process } = &self.recorder;
        match appended {
            Ok(()) => oracle.committed(*process, batch.number.0, batch.changes.len()),
            Err(_) => oracle.failing(*process, Some(batch.number.0)),
        }
        appended
    }

    fn recover(&mut self) -> Result<BatchNumber, StoreError> {
        let recovered = self.inner.recover();
        if let Ok(last) = recovered {
            self.recorder.oracle.recovered(self.recorder.process, last.0);
        }
        recovered
    }

    fn check(&mut self) -> Result<(), StoreError> {
        let checked = self.inner.check();
        self.told(checked)
    }

    fn note_usage(&mut self, counts: &[UsageCount]) -> Result<(), StoreError> {
        let noted = self.inner.note_usage(counts);
        self.recorder.oracle.noted_usage(self.recorder.process, counts, noted.is_ok());
        self.told(noted)
    }

    fn note_deliveries(&mut self, notes: &[DeliveryNote]) -> Result<(), StoreError> {
        let result = self.inner.note_deliveries(notes);
        self.told(result)
    }

    fn prune(&mut self, now: Timestamp) -> Result<usize, StoreError> {
        let pruned = self.inner.prune(now);
        self.recorder.oracle.pruned(self.recorder.process, now.as_millis(), pruned.is_ok());
        self.told(pruned)
    }

    fn prune_events(&mut self, limits: &EventLimits) -> Result<EventsPruned, StoreError> {
        let pruned = self.inner.prune_events(limits);
        self.told(pruned)
    }

    fn event_reader(&self) -> Box<dyn EventBatchReader> {
        self.inner.event_reader()
    }

    fn bulk(&mut self, bulk: &BulkLoad, rows: &mut dyn Iterator<Item = Row>) -> Result<(), StoreError> {
        self.inner.bulk(bulk, rows)
    }
}
