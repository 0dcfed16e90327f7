//! The sequences of ids.

use petstore_ports::{LastIds, StoreError};

use super::staged::HighestIds;
use crate::connection::Session;
use crate::error::failed;
use crate::records::Fields;

/// The last ids that were drawn; 0 before the first.
const LAST: &str = "\
select case when pet.is_called then pet.last_value else 0 end, case when category.is_called then category.last_value else 0 end,
    case when sale.is_called then sale.last_value else 0 end, case when account.is_called then account.last_value else 0 end,
    case when key.is_called then key.last_value else 0 end
from pet_ids as pet, category_ids as category, order_ids as sale, account_ids as account, key_ids as key";

/// Reads the last ids that were drawn.
pub(super) async fn last_ids(session: &Session) -> Result<LastIds, StoreError> {
    let rows = session.rows(LAST, &[]).await.map_err(|error| failed("read the last ids", error))?;
    let row = rows.first().ok_or_else(|| StoreError::corrupt("the sequences have no row"))?;
    let mut fields = Fields::of("sequences", row);
    let mut next = || fields.number(Ok::<_, &str>);
    Ok(LastIds { pet: next()?, category: next()?, order: next()?, account: next()?, key: next()? })
}

/// Sets the last ids of the shop, as a part of a transaction. A sequence does not take part in a transaction: the new value is in force at once,
/// and a rollback does not undo it.
///
/// A value below the last one that was drawn may only be set while writers are kept out, after the deletion of the records
/// with higher ids is committed.
pub(super) async fn set(session: &Session, last: HighestIds) -> Result<(), StoreError> {
    session.batch(&text(last)).await.map_err(|error| failed("set the last ids", error))
}

/// Sets the last ids of the shop like [`set`], outside of a transaction.
pub(super) async fn set_alone(session: &Session, last: HighestIds) -> Result<(), StoreError> {
    session.batch_alone(&text(last)).await.map_err(|error| failed("set the last ids", error))
}

fn text(last: HighestIds) -> String {
    let HighestIds { category, pet, order } = last;
    let sql = [("category_ids", category), ("pet_ids", pet), ("order_ids", order)]
        .map(|(sequence, last)| format!("select setval('{sequence}', {}, {})", last.max(1), last > 0));
    sql.join("; ")
}
