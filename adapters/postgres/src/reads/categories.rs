//! Reading categories.

use async_trait::async_trait;
use petstore_domain::{CategoryId, CategoryRecord, FoldedName};
use petstore_ports::{
    CategoryFilter, CategoryReader, CategorySink, PageEnd, PageRequest, Reply, SortDirection, StoreError,
};

use super::page_text::{Direction, keyset};
use super::pages::bounds;
use crate::PostgresStore;
use crate::records::{Record, stored_id};

#[async_trait]
impl CategoryReader for PostgresStore {
    fn category(&self, id: CategoryId) -> Reply<Result<Option<CategoryRecord>, StoreError>> {
        self.loaders.load(|loader| &loader.categories, stored_id(id.get()))
    }

    async fn categories<'a>(
        &self,
        filter: &CategoryFilter,
        page: &PageRequest,
        sink: CategorySink<'a>,
    ) -> Result<PageEnd, StoreError> {
        if let Some(name) = &filter.name {
            return self.category_named(name, filter, page, sink).await;
        }
        let direction = Direction::of(page.order);
        let sql = keyset(CategoryRecord::COLUMNS, CategoryRecord::TABLE, &[Vec::new()], direction);
        self.page(sql, bounds(page), page.limit, |record| filter.admits(record), sink).await
    }
}

impl PostgresStore {
    /// The page of one name, which at most one category has.
    async fn category_named(
        &self,
        name: &FoldedName,
        filter: &CategoryFilter,
        page: &PageRequest,
        sink: CategorySink<'_>,
    ) -> Result<PageEnd, StoreError> {
        let sql = format!("select {} from categories where folded_name = $1", CategoryRecord::COLUMNS);
        let follows = |record: &CategoryRecord| {
            let id = record.category.id.get();
            page.after.is_none_or(|after| match page.order {
                SortDirection::Ascending => id > after,
                SortDirection::Descending => id < after,
            })
        };
        let mut following = |record: &CategoryRecord| {
            if follows(record) {
                sink(record);
            }
        };
        let parameters = vec![Box::new(name.as_str().to_owned()) as _];
        self.page(sql, parameters, page.limit, |record| filter.admits(record), &mut following).await
    }
}
