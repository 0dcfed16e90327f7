//! Reading orders.

use async_trait::async_trait;
use petstore_domain::{OrderId, OrderRecord};
use petstore_ports::{OrderFilter, OrderReader, OrderSink, PageEnd, PageRequest, Reply, StoreError};

use super::page_text::{Direction, Prefix, keyset};
use super::pages::bounds;
use crate::PostgresStore;
use crate::queries::Parameters;
use crate::records::{Record, stored_id};

#[async_trait]
impl OrderReader for PostgresStore {
    fn order(&self, id: OrderId) -> Reply<Result<Option<OrderRecord>, StoreError>> {
        self.loaders.load(|loader| &loader.orders, stored_id(id.get()))
    }

    async fn orders<'a>(
        &self,
        filter: &OrderFilter,
        page: &PageRequest,
        sink: OrderSink<'a>,
    ) -> Result<PageEnd, StoreError> {
        let (sql, parameters) = filtered(filter, page);
        self.page(sql, parameters, page.limit, |record| filter.admits(record), sink).await
    }
}

/// The statement for a page by the index of its filter.
pub(super) fn filtered(filter: &OrderFilter, page: &PageRequest) -> (String, Parameters) {
    let mut parameters = bounds(page);
    if let Some(id) = filter.pet_id {
        parameters.push(Box::new(stored_id(id.get())));
    }
    let direction = Direction::of(page.order);
    (keyset(OrderRecord::COLUMNS, OrderRecord::TABLE, &parts(filter), direction), parameters)
}

/// The parts of the index for a filter.
fn parts(filter: &OrderFilter) -> Vec<Prefix> {
    let pet = filter.pet_id.map(|_| ("pet_id", "$3"));
    let complete = |complete| ("complete", if complete { "true" } else { "false" });
    match (pet, filter.complete) {
        (None, None) => vec![vec![]],
        (None, Some(is_complete)) => vec![vec![complete(is_complete)]],
        (Some(pet), None) => [false, true].map(|is_complete| vec![pet, complete(is_complete)]).into(),
        (Some(pet), Some(is_complete)) => vec![vec![pet, complete(is_complete)]],
    }
}
