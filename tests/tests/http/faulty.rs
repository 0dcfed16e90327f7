//! Ports that make a test wait, fail or panic on demand.

use std::net::IpAddr;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use petstore_domain::{AccountId, Limit, Limits, PetId, PetRecord, Timestamp, Usage};
use petstore_ports::{
    AddressLimits, AddressVerdict, Ask, Cost, Credential, KeyLookup, KeyReader, PageEnd, PageRequest,
    PetFilter, PetReader, PetSink, Quotas, Reply, StoreError, StoreHealth, Transactor, Transition, Verdict,
};
use petstore_service::Ports;
use tokio::sync::watch;

use crate::harness::{Shop, ShopOptions};

/// A transactor that lets writes through while its barrier is open.
struct WriteBarrier {
    inner: Arc<dyn Transactor>,
    open: watch::Receiver<bool>,
    arrived: Mutex<Sender<()>>,
}

#[async_trait]
impl Transactor for WriteBarrier {
    async fn transact(&self, transition: Arc<dyn Transition>) -> Result<(), StoreError> {
        self.arrived.lock().unwrap().send(()).unwrap();
        self.open.clone().wait_for(|open| *open).await.unwrap();
        self.inner.transact(transition).await
    }
}

/// The test's control of the barrier.
pub(crate) struct BarrierControl {
    open: watch::Sender<bool>,
    arrived: Receiver<()>,
}

impl BarrierControl {
    /// Makes writes wait from now on.
    pub(crate) fn close(&self) {
        while self.arrived.try_recv().is_ok() {}
        self.open.send(false).unwrap();
    }

    /// Waits until a write has arrived at the closed barrier.
    pub(crate) fn wait_for_one(&self) {
        self.arrived.recv_timeout(Duration::from_secs(20)).unwrap();
    }

    /// Lets all writes through.
    pub(crate) fn open(&self) {
        self.open.send(true).unwrap();
    }
}

/// A shop whose writes can be made to wait.
pub(crate) fn shop_with_write_barrier(options: ShopOptions) -> (Shop, BarrierControl) {
    let (open, is_open) = watch::channel(true);
    let (tell, arrived) = channel();
    let shop = Shop::open_over(options, |ports| {
        let barrier =
            WriteBarrier { inner: Arc::clone(&ports.transactor), open: is_open, arrived: Mutex::new(tell) };
        Ports { transactor: Arc::new(barrier), ..ports }
    });
    (shop, BarrierControl { open, arrived })
}

/// A transactor that panics at every write until it has recovered.
pub(crate) struct PanickingTransactor {
    pub(crate) inner: Arc<dyn Transactor>,
    pub(crate) recovered: Arc<AtomicBool>,
}

#[async_trait]
impl Transactor for PanickingTransactor {
    async fn transact(&self, transition: Arc<dyn Transition>) -> Result<(), StoreError> {
        if !self.recovered.load(Ordering::SeqCst) {
            resume_unwind(Box::new("the secret of the store is 42"));
        }
        self.inner.transact(transition).await
    }
}

/// The way in which a port fails.
#[derive(Debug, Clone)]
pub(crate) enum FailureMode {
    Fails(StoreError),
    Panics,
    Hangs,
}

impl FailureMode {
    pub(crate) fn reply<T: Send + 'static>(&self) -> Reply<Result<T, StoreError>> {
        match self {
            Self::Fails(error) => Reply::now(Err(error.clone())),
            // `resume_unwind` bypasses the panic hook, so that the test's standard error stays clean.
            Self::Panics => resume_unwind(Box::new("the secret of the store is 42")),
            Self::Hangs => Reply::later(std::future::pending()),
        }
    }
}

/// A port that always fails in this way.
pub(crate) struct FailingPort(pub(crate) FailureMode);

#[async_trait]
impl PetReader for FailingPort {
    fn pet(&self, _id: PetId) -> Reply<Result<Option<PetRecord>, StoreError>> {
        self.0.reply()
    }

    async fn pets<'a>(
        &self,
        _filter: &PetFilter,
        _page: &PageRequest,
        _sink: PetSink<'a>,
    ) -> Result<PageEnd, StoreError> {
        self.0.reply().await
    }
}

#[async_trait]
impl StoreHealth for FailingPort {
    async fn check(&self, _now: Timestamp) -> Result<(), StoreError> {
        self.0.reply().await
    }
}

impl KeyReader for FailingPort {
    fn credential(&self, _name: KeyLookup) -> Reply<Result<Option<Credential>, StoreError>> {
        self.0.reply()
    }
}

impl Quotas for FailingPort {
    fn take(&self, _ask: &Ask) -> Reply<Result<Verdict, StoreError>> {
        self.0.reply()
    }

    fn usage(
        &self,
        _account: AccountId,
        _limits: Limits,
        _now: Timestamp,
    ) -> Reply<Result<Usage, StoreError>> {
        self.0.reply()
    }
}

impl AddressLimits for FailingPort {
    fn take_address(
        &self,
        _address: IpAddr,
        _limit: Limit,
        _cost: Cost,
        _now: Timestamp,
    ) -> Reply<Result<AddressVerdict, StoreError>> {
        self.0.reply()
    }
}

/// A shop that cannot read its pets.
pub(crate) fn shop_without_pets(options: ShopOptions, mode: FailureMode) -> Shop {
    Shop::open_over(options, |ports| Ports { pets: Arc::new(FailingPort(mode)), ..ports })
}
