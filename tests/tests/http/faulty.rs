//! Ports that make a test wait, fail or panic where the real ones would not.

use std::net::IpAddr;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use petstore_domain::{AccountId, Limit, PetId, PetRecord, Timestamp};
use petstore_ports::{
    AddressLimits, AddressVerdict, Ask, Cost, Credential, KeyName, KeyReader, PageEnd, PageRequest,
    PetFilter, PetReader, PetSink, Quotas, Reply, StoreError, StoreHealth, Transactor, Transition, Verdict,
};
use petstore_service::Ports;
use tokio::sync::watch;

use crate::harness::{Shop, Wish};

/// A transactor that lets writes through while its door is open.
struct Door {
    inner: Arc<dyn Transactor>,
    open: watch::Receiver<bool>,
    arrived: Mutex<Sender<()>>,
}

#[async_trait]
impl Transactor for Door {
    async fn transact(&self, transition: Arc<dyn Transition>) -> Result<(), StoreError> {
        self.arrived.lock().unwrap().send(()).unwrap();
        self.open.clone().wait_for(|open| *open).await.unwrap();
        self.inner.transact(transition).await
    }
}

/// The test's hand on the door.
pub(crate) struct Doorkeeper {
    open: watch::Sender<bool>,
    arrived: Receiver<()>,
}

impl Doorkeeper {
    /// From now on writes wait.
    pub(crate) fn close(&self) {
        while self.arrived.try_recv().is_ok() {}
        self.open.send(false).unwrap();
    }

    /// Waits for a write that has come to the closed door.
    pub(crate) fn wait_for_one(&self) {
        self.arrived.recv_timeout(Duration::from_secs(20)).unwrap();
    }

    /// Lets everything through.
    pub(crate) fn open(&self) {
        self.open.send(true).unwrap();
    }
}

/// A shop whose writes can be made to wait.
pub(crate) fn shop_with_a_door(wish: Wish) -> (Shop, Doorkeeper) {
    let (open, is_open) = watch::channel(true);
    let (tell, arrived) = channel();
    let shop = Shop::open_over(wish, |ports| {
        let door = Door { inner: Arc::clone(&ports.transactor), open: is_open, arrived: Mutex::new(tell) };
        Ports { transactor: Arc::new(door), ..ports }
    });
    (shop, Doorkeeper { open, arrived })
}

/// A transactor that panics at every write until it has recovered.
pub(crate) struct Panicky {
    pub(crate) inner: Arc<dyn Transactor>,
    pub(crate) recovered: Arc<AtomicBool>,
}

#[async_trait]
impl Transactor for Panicky {
    async fn transact(&self, transition: Arc<dyn Transition>) -> Result<(), StoreError> {
        if !self.recovered.load(Ordering::SeqCst) {
            resume_unwind(Box::new("the secret of the store is 42"));
        }
        self.inner.transact(transition).await
    }
}

/// What a store does when it is asked for something.
#[derive(Debug, Clone)]
pub(crate) enum Mood {
    Fails(StoreError),
    Panics,
}

/// A store that has its moods.
pub(crate) struct Moody(pub(crate) Mood);

impl Moody {
    fn show(&self) -> StoreError {
        match &self.0 {
            Mood::Fails(error) => error.clone(),
            // Unwinds like a panic, without a word on the test's own standard error.
            Mood::Panics => resume_unwind(Box::new("the secret of the store is 42")),
        }
    }
}

#[async_trait]
impl PetReader for Moody {
    fn pet(&self, _id: PetId) -> Reply<Result<Option<PetRecord>, StoreError>> {
        Reply::now(Err(self.show()))
    }

    async fn pets<'a>(
        &self,
        _filter: &PetFilter,
        _page: &PageRequest,
        _sink: PetSink<'a>,
    ) -> Result<PageEnd, StoreError> {
        Err(self.show())
    }
}

#[async_trait]
impl StoreHealth for Moody {
    async fn check(&self, _now: Timestamp) -> Result<(), StoreError> {
        Err(self.show())
    }
}

impl KeyReader for Moody {
    fn credential(&self, _name: KeyName) -> Reply<Result<Option<Credential>, StoreError>> {
        Reply::now(Err(self.show()))
    }
}

impl Quotas for Moody {
    fn take(&self, _ask: &Ask) -> Reply<Result<Verdict, StoreError>> {
        Reply::now(Err(self.show()))
    }

    fn leave(&self, _account: AccountId) {}
}

impl AddressLimits for Moody {
    fn take_address(
        &self,
        _address: IpAddr,
        _limit: Limit,
        _cost: Cost,
        _now: Timestamp,
    ) -> Reply<Result<AddressVerdict, StoreError>> {
        Reply::now(Err(self.show()))
    }
}

/// A shop that cannot read its pets.
pub(crate) fn shop_without_pets(wish: Wish, mood: Mood) -> Shop {
    Shop::open_over(wish, |ports| Ports { pets: Arc::new(Moody(mood)), ..ports })
}
