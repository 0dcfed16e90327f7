//! Ports whose failures a test switches on and off.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use petstore_domain::{
    AccountId, AccountWebhooks, CategoryId, CategoryRecord, Limit, Limits, OrderId, OrderRecord, PetId,
    PetRecord, Timestamp, Usage,
};
use petstore_ports::{
    AddressLimits, AddressVerdict, Ask, CategoryFilter, CategoryReader, CategorySink, Cost, Credential,
    EventBounds, EventQuery, EventRead, EventReader, KeyLookup, KeyReader, OrderFilter, OrderReader,
    OrderSink, PageEnd, PageRequest, PetFilter, PetReader, PetSink, Quotas, Reply, StoreError, Transactor,
    Transition, Verdict, WebhookChanges, WebhookReader,
};
use petstore_service::{DispatcherPorts, Ports};

use crate::faulty::FailureMode;

/// The failure mode of several ports; none while they work.
#[derive(Clone, Default)]
pub(super) struct FailureSwitch(Arc<Mutex<Option<FailureMode>>>);

impl FailureSwitch {
    /// Sets the failure mode from now on.
    pub(super) fn set(&self, mode: Option<FailureMode>) {
        *self.0.lock().unwrap() = mode;
    }

    /// The reply of a port that fails; none while it works.
    fn failure<T: Send + 'static>(&self) -> Option<Fallible<T>> {
        let mode = self.0.lock().unwrap().clone();
        mode.map(|mode| mode.reply())
    }

    fn reply<T: Send + 'static>(&self, port: impl FnOnce() -> Fallible<T>) -> Fallible<T> {
        self.failure().unwrap_or_else(port)
    }
}

type Fallible<T> = Reply<Result<T, StoreError>>;

/// The failure switches of a petstore's ports.
#[derive(Default)]
pub(super) struct FailureSwitches {
    /// Switches the ports that read and write pets, categories, orders, stock, events and webhooks.
    pub(super) records: FailureSwitch,
    /// Switches the port that finds keys.
    pub(super) keys: FailureSwitch,
    /// Switches the port that counts requests.
    pub(super) quotas: FailureSwitch,
}

impl FailureSwitches {
    /// Wraps the ports in these switches.
    pub(super) fn give(&self, ports: Ports) -> Ports {
        Ports {
            transactor: SwitchedPort::new(ports.transactor, &self.records),
            pets: SwitchedPort::new(ports.pets, &self.records),
            categories: SwitchedPort::new(ports.categories, &self.records),
            orders: SwitchedPort::new(ports.orders, &self.records),
            events: SwitchedPort::new(ports.events, &self.records),
            keys: SwitchedPort::new(ports.keys, &self.keys),
            quotas: SwitchedPort::new(ports.quotas, &self.quotas),
            addresses: SwitchedPort::new(ports.addresses, &self.quotas),
            ..ports
        }
    }

    /// Wraps the ports of webhooks in these switches.
    pub(super) fn give_to_webhooks(&self, ports: DispatcherPorts) -> DispatcherPorts {
        DispatcherPorts { webhooks: SwitchedPort::new(ports.webhooks, &self.records), ..ports }
    }
}

/// A port behind a failure switch.
struct SwitchedPort<P: ?Sized> {
    port: Arc<P>,
    switch: FailureSwitch,
}

impl<P: ?Sized> SwitchedPort<P> {
    fn new(port: Arc<P>, switch: &FailureSwitch) -> Arc<Self> {
        Arc::new(Self { port, switch: switch.clone() })
    }
}

#[async_trait]
impl Transactor for SwitchedPort<dyn Transactor> {
    async fn transact(&self, transition: Arc<dyn Transition>) -> Result<(), StoreError> {
        if let Some(failure) = self.switch.failure() {
            return failure.await;
        }
        self.port.transact(transition).await
    }
}

#[async_trait]
impl PetReader for SwitchedPort<dyn PetReader> {
    fn pet(&self, id: PetId) -> Fallible<Option<PetRecord>> {
        self.switch.reply(|| self.port.pet(id))
    }

    async fn pets<'a>(
        &self,
        filter: &PetFilter,
        page: &PageRequest,
        sink: PetSink<'a>,
    ) -> Result<PageEnd, StoreError> {
        if let Some(failure) = self.switch.failure() {
            return failure.await;
        }
        self.port.pets(filter, page, sink).await
    }
}

#[async_trait]
impl CategoryReader for SwitchedPort<dyn CategoryReader> {
    fn category(&self, id: CategoryId) -> Fallible<Option<CategoryRecord>> {
        self.switch.reply(|| self.port.category(id))
    }

    async fn categories<'a>(
        &self,
        filter: &CategoryFilter,
        page: &PageRequest,
        sink: CategorySink<'a>,
    ) -> Result<PageEnd, StoreError> {
        if let Some(failure) = self.switch.failure() {
            return failure.await;
        }
        self.port.categories(filter, page, sink).await
    }
}

#[async_trait]
impl OrderReader for SwitchedPort<dyn OrderReader> {
    fn order(&self, id: OrderId) -> Fallible<Option<OrderRecord>> {
        self.switch.reply(|| self.port.order(id))
    }

    async fn orders<'a>(
        &self,
        filter: &OrderFilter,
        page: &PageRequest,
        sink: OrderSink<'a>,
    ) -> Result<PageEnd, StoreError> {
        if let Some(failure) = self.switch.failure() {
            return failure.await;
        }
        self.port.orders(filter, page, sink).await
    }
}

impl EventReader for SwitchedPort<dyn EventReader> {
    fn bounds(&self) -> Fallible<EventBounds> {
        self.switch.reply(|| self.port.bounds())
    }

    fn read(&self, query: EventQuery) -> Fallible<EventRead> {
        self.switch.reply(|| self.port.read(query))
    }
}

impl WebhookReader for SwitchedPort<dyn WebhookReader> {
    fn webhooks_of(&self, account: AccountId) -> Fallible<AccountWebhooks> {
        self.switch.reply(|| self.port.webhooks_of(account))
    }

    fn changed_webhooks(&self, since: u64) -> Fallible<WebhookChanges> {
        self.switch.reply(|| self.port.changed_webhooks(since))
    }
}

impl KeyReader for SwitchedPort<dyn KeyReader> {
    fn credential(&self, name: KeyLookup) -> Fallible<Option<Credential>> {
        self.switch.reply(|| self.port.credential(name))
    }
}

impl Quotas for SwitchedPort<dyn Quotas> {
    fn take(&self, ask: &Ask) -> Fallible<Verdict> {
        self.switch.reply(|| self.port.take(ask))
    }

    fn usage(&self, account: AccountId, limits: Limits, now: Timestamp) -> Fallible<Usage> {
        self.switch.reply(|| self.port.usage(account, limits, now))
    }
}

impl AddressLimits for SwitchedPort<dyn AddressLimits> {
    fn take_address(
        &self,
        address: IpAddr,
        limit: Limit,
        cost: Cost,
        now: Timestamp,
    ) -> Fallible<AddressVerdict> {
        self.switch.reply(|| self.port.take_address(address, limit, cost, now))
    }
}
