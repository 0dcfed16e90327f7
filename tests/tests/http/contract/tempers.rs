//! Ports that do what they should or fail, as the test wants it and while it wants it.

use std::net::IpAddr;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use petstore_domain::{
    AccountId, CategoryId, CategoryRecord, Limit, OrderId, OrderRecord, PetId, PetRecord, Timestamp,
};
use petstore_ports::{
    AddressLimits, AddressVerdict, Ask, CategoryFilter, CategoryReader, CategorySink, Cost, Credential,
    KeyName, KeyReader, OrderFilter, OrderReader, OrderSink, PageEnd, PageRequest, PetFilter, PetReader,
    PetSink, Quotas, Reply, StoreError, Transactor, Transition, Verdict,
};
use petstore_service::Ports;

use crate::faulty::Mood;

/// The mood of several ports, which can change; none while they do what they should.
#[derive(Clone, Default)]
pub(super) struct Temper(Arc<Mutex<Option<Mood>>>);

impl Temper {
    /// From now on the ports are in this mood.
    pub(super) fn turn(&self, mood: Option<Mood>) {
        *self.0.lock().unwrap() = mood;
    }

    fn ask(&self) -> Result<(), StoreError> {
        let mood = self.0.lock().unwrap().clone();
        match mood {
            None => Ok(()),
            Some(Mood::Fails(error)) => Err(error),
            // Past the hook, which would write about it.
            Some(Mood::Panics) => resume_unwind(Box::new("a port in a temper")),
        }
    }

    fn reply<T: Send + 'static>(&self, port: impl FnOnce() -> Fallible<T>) -> Fallible<T> {
        match self.ask() {
            Ok(()) => port(),
            Err(error) => Reply::now(Err(error)),
        }
    }
}

type Fallible<T> = Reply<Result<T, StoreError>>;

/// The tempers of a petstore's ports.
#[derive(Default)]
pub(super) struct Tempers {
    /// Of whatever reads and writes pets, categories, orders and stock.
    pub(super) records: Temper,
    /// Of what finds keys.
    pub(super) keys: Temper,
    /// Of what counts requests.
    pub(super) quotas: Temper,
}

impl Tempers {
    /// Gives ports these tempers.
    pub(super) fn give(&self, ports: Ports) -> Ports {
        Ports {
            transactor: Tempered::new(ports.transactor, &self.records),
            pets: Tempered::new(ports.pets, &self.records),
            categories: Tempered::new(ports.categories, &self.records),
            orders: Tempered::new(ports.orders, &self.records),
            keys: Tempered::new(ports.keys, &self.keys),
            quotas: Tempered::new(ports.quotas, &self.quotas),
            addresses: Tempered::new(ports.addresses, &self.quotas),
            ..ports
        }
    }
}

/// A port with a temper.
struct Tempered<P: ?Sized> {
    port: Arc<P>,
    temper: Temper,
}

impl<P: ?Sized> Tempered<P> {
    fn new(port: Arc<P>, temper: &Temper) -> Arc<Self> {
        Arc::new(Self { port, temper: temper.clone() })
    }
}

#[async_trait]
impl Transactor for Tempered<dyn Transactor> {
    async fn transact(&self, transition: Arc<dyn Transition>) -> Result<(), StoreError> {
        self.temper.ask()?;
        self.port.transact(transition).await
    }
}

#[async_trait]
impl PetReader for Tempered<dyn PetReader> {
    fn pet(&self, id: PetId) -> Fallible<Option<PetRecord>> {
        self.temper.reply(|| self.port.pet(id))
    }

    async fn pets<'a>(
        &self,
        filter: &PetFilter,
        page: &PageRequest,
        sink: PetSink<'a>,
    ) -> Result<PageEnd, StoreError> {
        self.temper.ask()?;
        self.port.pets(filter, page, sink).await
    }
}

#[async_trait]
impl CategoryReader for Tempered<dyn CategoryReader> {
    fn category(&self, id: CategoryId) -> Fallible<Option<CategoryRecord>> {
        self.temper.reply(|| self.port.category(id))
    }

    async fn categories<'a>(
        &self,
        filter: &CategoryFilter,
        page: &PageRequest,
        sink: CategorySink<'a>,
    ) -> Result<PageEnd, StoreError> {
        self.temper.ask()?;
        self.port.categories(filter, page, sink).await
    }
}

#[async_trait]
impl OrderReader for Tempered<dyn OrderReader> {
    fn order(&self, id: OrderId) -> Fallible<Option<OrderRecord>> {
        self.temper.reply(|| self.port.order(id))
    }

    async fn orders<'a>(
        &self,
        filter: &OrderFilter,
        page: &PageRequest,
        sink: OrderSink<'a>,
    ) -> Result<PageEnd, StoreError> {
        self.temper.ask()?;
        self.port.orders(filter, page, sink).await
    }
}

impl KeyReader for Tempered<dyn KeyReader> {
    fn credential(&self, name: KeyName) -> Fallible<Option<Credential>> {
        self.temper.reply(|| self.port.credential(name))
    }
}

impl Quotas for Tempered<dyn Quotas> {
    fn take(&self, ask: &Ask) -> Fallible<Verdict> {
        self.temper.reply(|| self.port.take(ask))
    }

    fn leave(&self, account: AccountId) {
        self.port.leave(account);
    }
}

impl AddressLimits for Tempered<dyn AddressLimits> {
    fn take_address(
        &self,
        address: IpAddr,
        limit: Limit,
        cost: Cost,
        now: Timestamp,
    ) -> Fallible<AddressVerdict> {
        self.temper.reply(|| self.port.take_address(address, limit, cost, now))
    }
}
