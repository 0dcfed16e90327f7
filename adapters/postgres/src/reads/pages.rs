//! Executing a page's statement, and telling its end.

use petstore_ports::{PageEnd, PageRequest, StoreError};
use tokio_postgres::Row;

use super::page_text::Direction;
use crate::PostgresStore;
use crate::queries::Parameters;
use crate::records::Record;

/// The parameters that every page has: the id that it begins at, and the maximum number of rows, which is one more than the page
/// holds.
pub(crate) fn bounds(page: &PageRequest) -> Parameters {
    let limit = i64::try_from(page.limit).unwrap_or(i64::MAX).saturating_add(1);
    vec![Box::new(Direction::of(page.order).after(page)), Box::new(limit)]
}

impl PostgresStore {
    /// Reads a page and passes its records on. The statement must return only records that meet the filter.
    pub(super) async fn page<R: Record>(
        &self,
        sql: String,
        parameters: Parameters,
        limit: usize,
        admits: impl Fn(&R) -> bool,
        sink: &mut (dyn FnMut(&R) + Send),
    ) -> Result<PageEnd, StoreError> {
        let rows = self.pages.rows(sql, parameters).await?;
        pass(&rows, limit, admits, sink).inspect_err(|error| self.calls.pages.failed(error))
    }
}

fn pass<R: Record>(
    rows: &[Row],
    limit: usize,
    admits: impl Fn(&R) -> bool,
    sink: &mut (dyn FnMut(&R) + Send),
) -> Result<PageEnd, StoreError> {
    for row in rows.iter().take(limit) {
        let record = R::parse(row)?;
        if !admits(&record) {
            return Err(StoreError::corrupt(format!(
                "{}: a row's columns for searching do not fit the others",
                R::TABLE
            )));
        }
        sink(&record);
    }
    Ok(if rows.len() > limit { PageEnd::More } else { PageEnd::Last })
}
