//! Reads: shaped like the questions that are asked.
//!
//! A page is a keyset page: its cost depends on the page, never on the table. Records are handed to the caller's sink
//! rather than gathered in a vector.

use async_trait::async_trait;
use petstore_domain::{
    CategoryId, CategoryRecord, FoldedName, OrderId, OrderRecord, PetId, PetRecord, PetStatus,
};

use crate::{Reply, StoreError};

/// In which order of ids a page runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PageOrder {
    /// Rising.
    Ascending,
    /// Falling.
    Descending,
}

/// Which page of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRequest {
    /// In which order.
    pub order: PageOrder,
    /// The last id of the page before; none for the first page.
    pub after: Option<u64>,
    /// How many records at most, from 1. How many a client may ask for is the transport's to say: here there is no bound.
    pub limit: usize,
}

/// Whether a page was the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageEnd {
    /// There is at least one more record. The page has exactly as many as its limit: only the last one may have fewer.
    More,
    /// There is none.
    Last,
}

/// Some of the statuses; none of them means any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct StatusSet(u8);

impl StatusSet {
    /// Adds a status.
    pub fn add(&mut self, status: PetStatus) {
        self.0 |= Self::bit(status);
    }

    /// Whether any status will do.
    pub const fn is_any(self) -> bool {
        self.0 == 0
    }

    /// Whether this status is among them, or any will do.
    pub fn admits(self, status: PetStatus) -> bool {
        self.is_any() || self.0 & Self::bit(status) != 0
    }

    const fn bit(status: PetStatus) -> u8 {
        match status {
            PetStatus::Available => 1,
            PetStatus::Pending => 2,
            PetStatus::Sold => 4,
        }
    }
}

impl FromIterator<PetStatus> for StatusSet {
    fn from_iter<I: IntoIterator<Item = PetStatus>>(statuses: I) -> Self {
        let mut set = Self::default();
        statuses.into_iter().for_each(|status| set.add(status));
        set
    }
}

/// Which pets: all conditions must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PetFilter {
    /// One of these statuses.
    pub statuses: StatusSet,
    /// This category.
    pub category_id: Option<CategoryId>,
    /// This name, compared by its folded form alone: no pattern and no collation.
    pub name: Option<FoldedName>,
    /// One of these ids: rising, each once, since they are searched as such. An empty list is no pet.
    pub ids: Option<Vec<PetId>>,
}

impl PetFilter {
    /// Whether a pet is among those asked for. An adapter may narrow the search by an index; this is the condition.
    pub fn admits(&self, record: &PetRecord) -> bool {
        let pet = &record.pet;
        self.statuses.admits(pet.status)
            && self.category_id.is_none_or(|id| id == pet.category_id)
            && self.name.as_ref().is_none_or(|name| name.matches(pet.name.as_str()))
            && self.ids.as_ref().is_none_or(|ids| ids.binary_search(&pet.id).is_ok())
    }
}

/// Which categories.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CategoryFilter {
    /// This name, compared by its folded form alone: no pattern and no collation.
    pub name: Option<FoldedName>,
}

impl CategoryFilter {
    /// Whether a category is among those asked for.
    pub fn admits(&self, record: &CategoryRecord) -> bool {
        self.name.as_ref().is_none_or(|name| name.matches(record.category.name.as_str()))
    }
}

/// Which orders: all conditions must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OrderFilter {
    /// For this pet.
    pub pet_id: Option<PetId>,
    /// Complete, or not.
    pub complete: Option<bool>,
}

impl OrderFilter {
    /// Whether an order is among those asked for.
    pub fn admits(&self, record: &OrderRecord) -> bool {
        self.pet_id.is_none_or(|id| id == record.order.pet_id)
            && self.complete.is_none_or(|complete| complete == record.order.complete)
    }
}

/// Takes the pets of a page, one by one.
pub type PetSink<'a> = &'a mut (dyn FnMut(&PetRecord) + Send);

/// Takes the categories of a page, one by one.
pub type CategorySink<'a> = &'a mut (dyn FnMut(&CategoryRecord) + Send);

/// Takes the orders of a page, one by one.
pub type OrderSink<'a> = &'a mut (dyn FnMut(&OrderRecord) + Send);

/// Reads pets, and the inventory with them: a pet and its stock are one record.
///
/// A record is always whole: as one commit left it, and what a filter is answered by changes with it. A page is not a
/// snapshot, but an item that is there, and admitted by the filter, throughout a walk is seen exactly once under any
/// concurrent writes.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait PetReader: Send + Sync {
    /// One pet with its stock.
    fn pet(&self, id: PetId) -> Reply<Result<Option<PetRecord>, StoreError>>;

    /// A page of pets. An error after the first record leaves the sink with a part of the page. (Whoever implements this
    /// writes the lifetime as it is here: `async fn pets<'a>(…, sink: PetSink<'a>)`.)
    async fn pets<'a>(
        &self,
        filter: &PetFilter,
        page: &PageRequest,
        sink: PetSink<'a>,
    ) -> Result<PageEnd, StoreError>;
}

/// Reads categories; the same promises as [`PetReader`].
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait CategoryReader: Send + Sync {
    /// One category.
    fn category(&self, id: CategoryId) -> Reply<Result<Option<CategoryRecord>, StoreError>>;

    /// A page of categories.
    async fn categories<'a>(
        &self,
        filter: &CategoryFilter,
        page: &PageRequest,
        sink: CategorySink<'a>,
    ) -> Result<PageEnd, StoreError>;
}

/// Reads orders; the same promises as [`PetReader`].
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait OrderReader: Send + Sync {
    /// One order.
    fn order(&self, id: OrderId) -> Reply<Result<Option<OrderRecord>, StoreError>>;

    /// A page of orders.
    async fn orders<'a>(
        &self,
        filter: &OrderFilter,
        page: &PageRequest,
        sink: OrderSink<'a>,
    ) -> Result<PageEnd, StoreError>;
}
