//! Orders and stock.

use async_trait::async_trait;
use petstore_domain::{
    AdjustStockRejection, CancelOrderRejection, InventoryItem, NewOrder, Order, OrderId, OrderPatch, PetId,
    PlaceOrderRejection, Precondition, SetStockRejection, StockDelta, StockLevel, UpdateOrderRejection,
    Versioned,
};

use super::{Failure, IdempotentRequest, Repeated};
use crate::{OrderFilter, OrderSink, PageEnd, PageRequest, PetFilter, PetSink, Reply, StoreError};

/// The orders of the shop.
#[async_trait]
pub trait Orders: Send + Sync {
    /// Reads an order with its version; none if there is no order with this id.
    fn order(&self, id: OrderId) -> Reply<Result<Option<Versioned<Order>>, StoreError>>;

    /// A page of orders.
    async fn list_orders(
        &self,
        filter: &OrderFilter,
        page: &PageRequest,
        sink: OrderSink<'_>,
    ) -> Result<PageEnd, StoreError>;

    /// Places an order, which takes its units from the free units of the pet.
    async fn place_order(
        &self,
        new: NewOrder,
        retry: Option<IdempotentRequest<'_>>,
    ) -> Repeated<Versioned<Order>, PlaceOrderRejection>;

    /// Changes an order's ship date, or completes it.
    async fn update_order(
        &self,
        id: OrderId,
        patch: OrderPatch,
        precondition: Precondition,
    ) -> Result<Versioned<Order>, Failure<UpdateOrderRejection>>;

    /// Cancels an open order.
    async fn cancel_order(
        &self,
        id: OrderId,
        precondition: Precondition,
    ) -> Result<(), Failure<CancelOrderRejection>>;
}

/// The stock of the shop: one item for each pet.
#[async_trait]
pub trait Inventory: Send + Sync {
    /// The item of one pet.
    fn item(&self, id: PetId) -> Reply<Result<Option<Versioned<InventoryItem>>, StoreError>>;

    /// A page of items, ordered by pet id. The sink receives the pets' records; a record's item is
    /// [`item`](petstore_domain::PetRecord::item).
    async fn list_items(
        &self,
        filter: &PetFilter,
        page: &PageRequest,
        sink: PetSink<'_>,
    ) -> Result<PageEnd, StoreError>;

    /// Sets the stock of a pet.
    async fn set_stock(
        &self,
        id: PetId,
        level: StockLevel,
        precondition: Precondition,
    ) -> Result<Versioned<InventoryItem>, Failure<SetStockRejection>>;

    /// Adds units to the stock of a pet, or removes them.
    async fn adjust_stock(
        &self,
        id: PetId,
        delta: StockDelta,
        retry: Option<IdempotentRequest<'_>>,
    ) -> Repeated<Versioned<InventoryItem>, AdjustStockRejection>;
}
