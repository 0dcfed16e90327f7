//! Orders and stock.

use async_trait::async_trait;
use petstore_domain::{
    AdjustStock, AdjustStockRejection, CancelOrder, CancelOrderRejection, InventoryItem, NewOrder, Order,
    OrderId, OrderPatch, PetId, PlaceOrder, PlaceOrderRejection, Precondition, SetStock, SetStockRejection,
    StockDelta, StockLevel, UpdateOrder, UpdateOrderRejection, Versioned,
};
use petstore_ports::api::{Failure, IdempotentRequest, Inventory, Orders, Repeated};
use petstore_ports::{OrderFilter, OrderSink, PageEnd, PageRequest, PetFilter, PetSink, Reply, StoreError};

use crate::service::Service;

#[async_trait]
impl Orders for Service {
    fn order(&self, id: OrderId) -> Reply<Result<Option<Versioned<Order>>, StoreError>> {
        self.deadlines.reply(self.orders.order(id)).map(|found| Ok(found?.map(|record| record.versioned())))
    }

    async fn list_orders(
        &self,
        filter: &OrderFilter,
        page: &PageRequest,
        sink: OrderSink<'_>,
    ) -> Result<PageEnd, StoreError> {
        self.deadlines.read(self.orders.orders(filter, page, sink)).await
    }

    async fn place_order(
        &self,
        new: NewOrder,
        retry: Option<IdempotentRequest<'_>>,
    ) -> Repeated<Versioned<Order>, PlaceOrderRejection> {
        self.submit_once(PlaceOrder { new }, retry).await
    }

    async fn update_order(
        &self,
        id: OrderId,
        patch: OrderPatch,
        precondition: Precondition,
    ) -> Result<Versioned<Order>, Failure<UpdateOrderRejection>> {
        self.submit(UpdateOrder { id, patch, precondition, now: self.clock.now() }).await
    }

    async fn cancel_order(
        &self,
        id: OrderId,
        precondition: Precondition,
    ) -> Result<(), Failure<CancelOrderRejection>> {
        self.submit(CancelOrder { id, precondition }).await
    }
}

#[async_trait]
impl Inventory for Service {
    fn item(&self, id: PetId) -> Reply<Result<Option<Versioned<InventoryItem>>, StoreError>> {
        self.deadlines.reply(self.pets.pet(id)).map(|found| Ok(found?.map(|record| record.versioned_item())))
    }

    async fn list_items(
        &self,
        filter: &PetFilter,
        page: &PageRequest,
        sink: PetSink<'_>,
    ) -> Result<PageEnd, StoreError> {
        self.deadlines.read(self.pets.pets(filter, page, sink)).await
    }

    async fn set_stock(
        &self,
        id: PetId,
        level: StockLevel,
        precondition: Precondition,
    ) -> Result<Versioned<InventoryItem>, Failure<SetStockRejection>> {
        self.submit(SetStock { id, level, precondition }).await
    }

    async fn adjust_stock(
        &self,
        id: PetId,
        delta: StockDelta,
        retry: Option<IdempotentRequest<'_>>,
    ) -> Repeated<Versioned<InventoryItem>, AdjustStockRejection> {
        self.submit_once(AdjustStock { id, delta }, retry).await
    }
}
