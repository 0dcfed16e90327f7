//! The service behind its driving port, wrapped to report the end of each request in flight to the oracle.
//!
//! Only the gate is changed. All other calls are passed on.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use petstore_domain::*;
use petstore_ports::api::*;
use petstore_ports::*;
use petstore_service::Service;

use crate::bugs::{Bug, leaving};
use crate::recorder::{Recorder, actor};

/// The service as the transport calls it.
pub(crate) struct WatchedShop {
    recorder: Recorder,
    bug: Option<Bug>,
    inner: Arc<Service>,
    left: AtomicU64,
}

impl WatchedShop {
    pub(crate) fn new(recorder: Recorder, bug: Option<Bug>, inner: Arc<Service>) -> Self {
        Self { recorder, bug, inner, left: AtomicU64::new(0) }
    }
}

impl InFlightCount for WatchedShop {
    fn leave(&self, account: AccountId) {
        let (told, given_back) = leaving(self.bug, self.left.fetch_add(1, Ordering::Relaxed));
        for _ in 0..told {
            self.recorder.oracle.left(self.recorder.process, actor(), account.get());
        }
        for _ in 0..given_back {
            self.inner.leave(account);
        }
    }
}

impl Gate for WatchedShop {
    fn now(&self) -> Timestamp {
        self.inner.now()
    }

    fn admit(&self, call: Call<'_>) -> ScopedReply<'_, Result<Admission<'_>, Refusal>> {
        self.inner.admit(call).map(|judged| {
            let mut admission = judged?;
            let watched = InFlight::new(self, admission.account);
            // The original guard would end the request without a report when it is dropped. The new guard ends the
            // request and reports it.
            std::mem::forget(std::mem::replace(&mut admission.in_flight, watched));
            Ok(admission)
        })
    }

    fn is_valid(
        &self,
        key: KeyId,
        scope: Scope,
        now: Timestamp,
    ) -> ScopedReply<'_, Result<bool, StoreError>> {
        self.inner.is_valid(key, scope, now)
    }

    fn admit_address(
        &self,
        address: IpAddr,
        cost: Cost,
        now: Timestamp,
    ) -> ScopedReply<'_, Result<AddressVerdict, StoreError>> {
        self.inner.admit_address(address, cost, now)
    }
}

impl Events for WatchedShop {
    fn event_bounds(&self) -> Reply<Result<EventBounds, StoreError>> {
        self.inner.event_bounds()
    }

    fn list_events(&self, listing: EventListing) -> Reply<Result<EventRead, StoreError>> {
        self.inner.list_events(listing)
    }

    fn event(&self, account: AccountId, id: EventId) -> Reply<Result<EventLookup, StoreError>> {
        self.inner.event(account, id)
    }

    fn log_end(&self) -> LogEnd {
        self.inner.log_end()
    }

    fn log_changed(&self, known: LogEnd, interest: EventInterest) -> Reply<LogEnd> {
        self.inner.log_changed(known, interest)
    }

    fn log_quiet_until(&self, known: LogEnd, interest: EventInterest) -> Position {
        self.inner.log_quiet_until(known, interest)
    }
}

#[async_trait]
impl Pets for WatchedShop {
    fn pet(&self, id: PetId) -> Reply<Result<Option<Versioned<Pet>>, StoreError>> {
        self.inner.pet(id)
    }

    async fn list_pets(
        &self,
        filter: &PetFilter,
        page: &PageRequest,
        sink: PetSink<'_>,
    ) -> Result<PageEnd, StoreError> {
        self.inner.list_pets(filter, page, sink).await
    }

    async fn create_pet(
        &self,
        new: NewPet,
        retry: Option<IdempotentRequest<'_>>,
    ) -> Repeated<Versioned<Pet>, CreatePetRejection> {
        self.inner.create_pet(new, retry).await
    }

    async fn update_pet(
        &self,
        id: PetId,
        patch: PetPatch,
        precondition: Precondition,
    ) -> Result<Versioned<Pet>, Failure<UpdatePetRejection>> {
        self.inner.update_pet(id, patch, precondition).await
    }

    async fn delete_pet(
        &self,
        id: PetId,
        precondition: Precondition,
    ) -> Result<(), Failure<DeletePetRejection>> {
        self.inner.delete_pet(id, precondition).await
    }
}

#[async_trait]
impl Categories for WatchedShop {
    fn category(&self, id: CategoryId) -> Reply<Result<Option<Versioned<Category>>, StoreError>> {
        self.inner.category(id)
    }

    async fn list_categories(
        &self,
        filter: &CategoryFilter,
        page: &PageRequest,
        sink: CategorySink<'_>,
    ) -> Result<PageEnd, StoreError> {
        self.inner.list_categories(filter, page, sink).await
    }

    async fn create_category(
        &self,
        new: NewCategory,
        retry: Option<IdempotentRequest<'_>>,
    ) -> Repeated<Versioned<Category>, CreateCategoryRejection> {
        self.inner.create_category(new, retry).await
    }

    async fn update_category(
        &self,
        id: CategoryId,
        patch: CategoryPatch,
        precondition: Precondition,
    ) -> Result<Versioned<Category>, Failure<UpdateCategoryRejection>> {
        self.inner.update_category(id, patch, precondition).await
    }

    async fn delete_category(
        &self,
        id: CategoryId,
        precondition: Precondition,
    ) -> Result<(), Failure<DeleteCategoryRejection>> {
        self.inner.delete_category(id, precondition).await
    }
}

#[async_trait]
impl Orders for WatchedShop {
    fn order(&self, id: OrderId) -> Reply<Result<Option<Versioned<Order>>, StoreError>> {
        self.inner.order(id)
    }

    async fn list_orders(
        &self,
        filter: &OrderFilter,
        page: &PageRequest,
        sink: OrderSink<'_>,
    ) -> Result<PageEnd, StoreError> {
        self.inner.list_orders(filter, page, sink).await
    }

    async fn place_order(
        &self,
        new: NewOrder,
        retry: Option<IdempotentRequest<'_>>,
    ) -> Repeated<Versioned<Order>, PlaceOrderRejection> {
        self.inner.place_order(new, retry).await
    }

    async fn update_order(
        &self,
        id: OrderId,
        patch: OrderPatch,
        precondition: Precondition,
    ) -> Result<Versioned<Order>, Failure<UpdateOrderRejection>> {
        self.inner.update_order(id, patch, precondition).await
    }

    async fn cancel_order(
        &self,
        id: OrderId,
        precondition: Precondition,
    ) -> Result<(), Failure<CancelOrderRejection>> {
        self.inner.cancel_order(id, precondition).await
    }
}

#[async_trait]
impl Inventory for WatchedShop {
    fn item(&self, id: PetId) -> Reply<Result<Option<Versioned<InventoryItem>>, StoreError>> {
        self.inner.item(id)
    }

    async fn list_items(
        &self,
        filter: &PetFilter,
        page: &PageRequest,
        sink: PetSink<'_>,
    ) -> Result<PageEnd, StoreError> {
        self.inner.list_items(filter, page, sink).await
    }

    async fn set_stock(
        &self,
        id: PetId,
        level: StockLevel,
        precondition: Precondition,
    ) -> Result<Versioned<InventoryItem>, Failure<SetStockRejection>> {
        self.inner.set_stock(id, level, precondition).await
    }

    async fn adjust_stock(
        &self,
        id: PetId,
        delta: StockDelta,
        retry: Option<IdempotentRequest<'_>>,
    ) -> Repeated<Versioned<InventoryItem>, AdjustStockRejection> {
        self.inner.adjust_stock(id, delta, retry).await
    }
}

#[async_trait]
impl Readiness for WatchedShop {
    async fn failing_checks(&self) -> Vec<FailingCheck> {
        self.inner.failing_checks().await
    }

    fn damaged_parts(&self) -> Vec<FailingCheck> {
        self.inner.damaged_parts()
    }
}
