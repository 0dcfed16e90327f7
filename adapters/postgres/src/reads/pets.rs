//! Reading pets.

use async_trait::async_trait;
use petstore_domain::{PetId, PetRecord, PetStatus};
use petstore_ports::{PageEnd, PageRequest, PetFilter, PetReader, PetSink, Reply, SortDirection, StoreError};

use super::page_text::{Direction, Prefix, keyset};
use super::pages::bounds;
use crate::PostgresStore;
use crate::queries::Parameters;
use crate::records::{Record, stored_id};

#[async_trait]
impl PetReader for PostgresStore {
    fn pet(&self, id: PetId) -> Reply<Result<Option<PetRecord>, StoreError>> {
        self.loaders.load(|loader| &loader.pets, stored_id(id.get()))
    }

    async fn pets<'a>(
        &self,
        filter: &PetFilter,
        page: &PageRequest,
        sink: PetSink<'a>,
    ) -> Result<PageEnd, StoreError> {
        let (sql, parameters) = match &filter.ids {
            Some(ids) => match named(filter, ids, page) {
                Some(statement) => statement,
                None => return Ok(PageEnd::Last),
            },
            None => filtered(filter, page),
        };
        self.page(sql, parameters, page.limit, |record| filter.admits(record), sink).await
    }
}

fn statuses(filter: &PetFilter) -> Vec<PetStatus> {
    PetStatus::ALL.into_iter().filter(|status| filter.statuses.admits(*status)).collect()
}

/// The statement for a page by the index of its filter. The number of texts is at most 58.
pub(super) fn filtered(filter: &PetFilter, page: &PageRequest) -> (String, Parameters) {
    let mut parameters = bounds(page);
    let mut prefix: Prefix = Vec::new();
    if let Some(id) = filter.category_id {
        prefix.push(("category_id", "$3"));
        parameters.push(Box::new(stored_id(id.get())));
    }
    if let Some(name) = &filter.name {
        prefix.push(("folded_name", if prefix.is_empty() { "$3" } else { "$4" }));
        parameters.push(Box::new(name.as_str().to_owned()));
    }
    let statuses = statuses(filter);
    let parts: Vec<Prefix> = if prefix.is_empty() && statuses.len() == PetStatus::ALL.len() {
        vec![prefix]
    } else {
        let with = |status: &PetStatus| {
            let mut part = prefix.clone();
            part.push(("status", literal(*status)));
            part
        };
        statuses.iter().map(with).collect()
    };
    let text = keyset(PetRecord::COLUMNS, PetRecord::TABLE, &parts, Direction::of(page.order));
    (text, parameters)
}

const fn literal(status: PetStatus) -> &'static str {
    match status {
        PetStatus::Available => "'available'",
        PetStatus::Pending => "'pending'",
        PetStatus::Sold => "'sold'",
    }
}

/// The statement for a page of named pets; none if no name follows the beginning of the page. Its cost depends on the number of
/// names.
fn named(filter: &PetFilter, ids: &[PetId], page: &PageRequest) -> Option<(String, Parameters)> {
    let direction = Direction::of(page.order);
    let after = u64::try_from(direction.after(page)).unwrap_or(0);
    let (ids, order) = match page.order {
        SortDirection::Ascending => (&ids[ids.partition_point(|id| id.get() <= after)..], ""),
        SortDirection::Descending => (&ids[..ids.partition_point(|id| id.get() < after)], " desc"),
    };
    if ids.is_empty() {
        return None;
    }
    let [_, limit] = <[_; 2]>::try_from(bounds(page)).ok()?;
    let ids: Vec<i64> = ids.iter().map(|id| stored_id(id.get())).collect();
    let statuses: Vec<&'static str> = statuses(filter).into_iter().map(PetStatus::as_str).collect();
    let name = filter.name.as_ref().map(|name| name.as_str().to_owned());
    let parameters: Parameters = vec![
        Box::new(ids),
        limit,
        Box::new(statuses),
        Box::new(filter.category_id.map(|id| stored_id(id.get()))),
        Box::new(name),
    ];
    let text = format!(
        "select {} from pets where id = any($1) and status = any($3) and ($4::bigint is null or category_id = $4) \
         and ($5::text is null or folded_name = $5) order by id{order} limit $2",
        PetRecord::COLUMNS
    );
    Some((text, parameters))
}
