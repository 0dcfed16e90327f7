//! Reads, with one method for each query.
//!
//! A page is a keyset page: its cost depends on the page, not on the table. Records are passed to the caller's sink,
//! not collected in a vector.

use async_trait::async_trait;
use petstore_domain::{
    CategoryId, CategoryRecord, FoldedName, OrderId, OrderRecord, PetId, PetRecord, PetStatus,
};

use crate::{Reply, StoreError};

/// The direction of a page, which is sorted by id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SortDirection {
    /// The lowest id first.
    Ascending,
    /// The highest id first.
    Descending,
}

/// A page of a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRequest {
    /// The direction of the page.
    pub order: SortDirection,
    /// The last id of the previous page; none for the first page.
    pub after: Option<u64>,
    /// The largest number of records, at least 1. The transport bounds what a client may request; the port does not.
    pub limit: usize,
}

/// The end of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageEnd {
    /// At least one more record follows. The page has exactly `limit` records: only the last page may have fewer.
    More,
    /// No record that matches the filter follows.
    Last,
}

/// A set of statuses. The empty set admits every status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct StatusSet(u8);

impl StatusSet {
    /// Admits pets with this status, too.
    pub fn add(&mut self, status: PetStatus) {
        self.0 |= Self::bit(status);
    }

    /// Returns whether every status is admitted.
    pub const fn is_any(self) -> bool {
        self.0 == 0
    }

    /// Returns whether this status is admitted.
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

/// A filter of pets: all conditions must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PetFilter {
    /// One of these statuses.
    pub statuses: StatusSet,
    /// The category of the pets; none admits every category.
    pub category_id: Option<CategoryId>,
    /// This name, compared by its folded form alone: no pattern and no collation.
    pub name: Option<FoldedName>,
    /// One of these ids, sorted and without duplicates. An empty list admits no pet.
    pub ids: Option<Vec<PetId>>,
}

impl PetFilter {
    /// Returns whether a pet meets the conditions. An adapter may narrow the search with an index; this method decides.
    pub fn admits(&self, record: &PetRecord) -> bool {
        let pet = &record.pet;
        self.statuses.admits(pet.status)
            && self.category_id.is_none_or(|id| id == pet.category_id)
            && self.name.as_ref().is_none_or(|name| name.matches(pet.name.as_str()))
            && self.ids.as_ref().is_none_or(|ids| ids.binary_search(&pet.id).is_ok())
    }
}

/// A filter of categories.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CategoryFilter {
    /// This name, compared by its folded form alone: no pattern and no collation.
    pub name: Option<FoldedName>,
}

impl CategoryFilter {
    /// Returns whether a category meets the conditions.
    pub fn admits(&self, record: &CategoryRecord) -> bool {
        self.name.as_ref().is_none_or(|name| name.matches(record.category.name.as_str()))
    }
}

/// A filter of orders: all conditions must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OrderFilter {
    /// Orders of this pet.
    pub pet_id: Option<PetId>,
    /// Complete orders, or open ones.
    pub complete: Option<bool>,
}

impl OrderFilter {
    /// Returns whether an order meets the conditions.
    pub fn admits(&self, record: &OrderRecord) -> bool {
        self.pet_id.is_none_or(|id| id == record.order.pet_id)
            && self.complete.is_none_or(|complete| complete == record.order.complete)
    }
}

/// Receives the pets of a page, one by one.
pub type PetSink<'a> = &'a mut (dyn FnMut(&PetRecord) + Send);

/// Receives the categories of a page, one by one.
pub type CategorySink<'a> = &'a mut (dyn FnMut(&CategoryRecord) + Send);

/// Receives the orders of a page, one by one.
pub type OrderSink<'a> = &'a mut (dyn FnMut(&OrderRecord) + Send);

/// Reads pets, and the inventory with them: a pet and its stock are one record.
///
/// Each record is passed in the state that one commit left, and the filter is applied to that same state. A page is
/// not a snapshot. Yet a record that exists and meets the filter throughout a walk over all pages is returned exactly
/// once, whatever is written meanwhile.
///
/// A reader of one pet:
///
/// ```
/// use async_trait::async_trait;
/// use petstore_domain::{PetId, PetRecord};
/// use petstore_ports::{PageEnd, SortDirection, PageRequest, PetFilter, PetReader, PetSink, Reply, StoreError};
///
/// struct OnePet(PetRecord);
///
/// #[async_trait]
/// impl PetReader for OnePet {
///     fn pet(&self, id: PetId) -> Reply<Result<Option<PetRecord>, StoreError>> {
///         Reply::now(Ok((id == self.0.pet.id).then(|| self.0.clone())))
///     }
///
///     // The lifetime of the sink is named, as in the trait.
///     async fn pets<'a>(
///         &self,
///         filter: &PetFilter,
///         page: &PageRequest,
///         sink: PetSink<'a>,
///     ) -> Result<PageEnd, StoreError> {
///         let id = self.0.pet.id.get();
///         let follows = page.after.is_none_or(|after| match page.order {
///             SortDirection::Ascending => id > after,
///             SortDirection::Descending => id < after,
///         });
///         if follows && filter.admits(&self.0) {
///             sink(&self.0);
///         }
///         Ok(PageEnd::Last)
///     }
/// }
/// ```
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait PetReader: Send + Sync {
    /// One pet with its stock.
    fn pet(&self, id: PetId) -> Reply<Result<Option<PetRecord>, StoreError>>;

    /// A page of pets. After an error the sink may have received a part of the page.
    async fn pets<'a>(
        &self,
        filter: &PetFilter,
        page: &PageRequest,
        sink: PetSink<'a>,
    ) -> Result<PageEnd, StoreError>;
}

/// Reads categories, with the guarantees of [`PetReader`] and in the same way.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait CategoryReader: Send + Sync {
    /// Reads a category; none if there is no category with this id.
    fn category(&self, id: CategoryId) -> Reply<Result<Option<CategoryRecord>, StoreError>>;

    /// A page of categories.
    async fn categories<'a>(
        &self,
        filter: &CategoryFilter,
        page: &PageRequest,
        sink: CategorySink<'a>,
    ) -> Result<PageEnd, StoreError>;
}

/// Reads orders, with the guarantees of [`PetReader`] and in the same way.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait OrderReader: Send + Sync {
    /// Reads an order; none if there is no order with this id.
    fn order(&self, id: OrderId) -> Reply<Result<Option<OrderRecord>, StoreError>>;

    /// A page of orders.
    async fn orders<'a>(
        &self,
        filter: &OrderFilter,
        page: &PageRequest,
        sink: OrderSink<'a>,
    ) -> Result<PageEnd, StoreError>;
}
