//! Complete listings, and the rules of each page.

use petstore_domain::{Account, CategoryRecord, KeyRecord, OrderRecord, PetRecord};
use petstore_ports::{CategoryFilter, OrderFilter, PageEnd, PageRequest, PetFilter, SortDirection};

use crate::Subject;

/// One page: its records, and whether there are more.
pub(crate) type Page<T> = (Vec<T>, PageEnd);

/// The listing of one kind of record.
pub(crate) trait Listed: Clone + PartialEq + std::fmt::Debug + Send + Sized {
    /// The filter of the listing.
    type Filter: Clone + std::fmt::Debug + Sync;

    /// The sort key of a listing.
    fn id(&self) -> u64;

    /// One page from the store.
    fn page(
        subject: &Subject,
        filter: &Self::Filter,
        request: PageRequest,
    ) -> impl Future<Output = Page<Self>> + Send;
}

macro_rules! listed {
    ($record:ident, $filter:ident, $port:ident . $method:ident, $id:expr) => {
        impl Listed for $record {
            type Filter = $filter;

            fn id(&self) -> u64 {
                let id: fn(&Self) -> u64 = $id;
                id(self)
            }

            async fn page(subject: &Subject, filter: &$filter, request: PageRequest) -> Page<Self> {
                let mut records: Vec<Self> = Vec::new();
                let mut sink = |record: &Self| records.push(record.clone());
                let end = subject.$port.$method(filter, &request, &mut sink).await;
                (records, end.expect("a healthy store reads pages"))
            }
        }
    };
}

listed!(PetRecord, PetFilter, pets.pets, |record| record.pet.id.get());
listed!(CategoryRecord, CategoryFilter, categories.categories, |record| record.category.id.get());
listed!(OrderRecord, OrderFilter, orders.orders, |record| record.order.id.get());

/// Reads a listing page by page to its end. Each page must respect the order and the limit, and must begin after the
/// last record of the previous page. The listing must end.
pub(crate) async fn walk<T: Listed>(
    subject: &Subject,
    filter: &T::Filter,
    order: SortDirection,
    limit: usize,
) -> Vec<T> {
    let mut all: Vec<T> = Vec::new();
    let mut after = None;
    loop {
        let (page, end) = T::page(subject, filter, PageRequest { order, after, limit }).await;
        assert!(page.len() <= limit, "a page has at most as many records as its limit: {}", page.len());
        let is_last = end == PageEnd::Last;
        assert!(is_last || !page.is_empty(), "a page that is not the last has records: after {after:?}");
        for record in page {
            let in_order = match (after, order) {
                (None, _) => true,
                (Some(last), SortDirection::Ascending) => record.id() > last,
                (Some(last), SortDirection::Descending) => record.id() < last,
            };
            assert!(in_order, "a page runs in its order, after its bound {after:?}: {record:?}");
            after = Some(record.id());
            all.push(record);
        }
        if is_last {
            return all;
        }
        assert!(all.len() < 1_000_000, "a walk ends: {filter:?}");
    }
}

/// The whole state of a store, as its readers show it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Snapshot {
    pub(crate) pets: Vec<PetRecord>,
    pub(crate) categories: Vec<CategoryRecord>,
    pub(crate) orders: Vec<OrderRecord>,
    pub(crate) accounts: Vec<Account>,
    pub(crate) keys: Vec<KeyRecord>,
}

/// Every record of one kind, by id.
pub(crate) async fn all<T: Listed>(subject: &Subject) -> Vec<T>
where
    T::Filter: Default,
{
    walk(subject, &T::Filter::default(), SortDirection::Ascending, 100).await
}

impl Subject {
    /// The whole state of the store, as its readers show it. It is consistent only if nothing is being written.
    pub(crate) async fn snapshot(&self) -> Snapshot {
        Snapshot {
            pets: all(self).await,
            categories: all(self).await,
            orders: all(self).await,
            accounts: self.accounts.accounts(None, 100_000).await.expect("accounts are listed"),
            keys: self.accounts.keys(None, 100_000).await.expect("keys are listed"),
        }
    }
}
