//! Filling a store with a given shop.

use petstore_ports::{Bulk, ImportError, Row};

/// Fills an empty store with a shop: categories, pets and orders, in this order. Adds all of them or none. Returns whether the store
/// was empty; a store that was not empty is unchanged. Blocks until the data is on disk.
///
/// # Errors
/// Any error of the import, except that the store is not empty.
pub fn fill_with_shop(store: &dyn Bulk, rows: &[Row]) -> Result<bool, ImportError> {
    let mut import = match store.import() {
        Err(ImportError::NotEmpty) => return Ok(false),
        begun => begun?,
    };
    for row in rows {
        match row {
            Row::Category(record) => import.category(record.category.clone(), record.version)?,
            Row::Pet(record) => {
                import.pet(record.pet.clone(), record.version)?;
                import.item(record.item(), record.item_version)?;
            }
            Row::Order(record) => import.order(record.order.clone(), record.version)?,
            // A shop has no others.
            Row::Account(_)
            | Row::Key(_)
            | Row::Idempotency(_)
            | Row::Usage(_)
            | Row::Webhooks(_)
            | Row::Progress(..)
            | Row::Delivery(_) => {}
        }
    }
    import.finish()?;
    Ok(true)
}
