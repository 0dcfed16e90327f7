//! Inserting many records: a chunk in one statement.

use petstore_domain::{CategoryRecord, Description, FoldedName, OrderRecord, PetRecord};
use petstore_ports::StoreError;

use crate::connection::{Parameter, Session};
use crate::error::failed;
use crate::records::stored_option;

/// Records of one statement.
pub(super) const CHUNK: usize = 5_000;

const CATEGORIES: &str = "\
insert into categories (id, name, folded_name, description, version, pets)
select * from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[])";

const PETS: &str = "\
insert into pets (id, name, folded_name, category_id, status, version, stock, item_version, open_orders)
select * from unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], \
$9::bigint[])";

const ORDERS: &str = "\
insert into orders (id, pet_id, quantity, ship_date, complete, version)
select * from unnest($1::bigint[], $2::bigint[], $3::integer[], $4::timestamptz[], $5::boolean[], $6::bigint[])";

/// Inserts categories.
pub(super) async fn categories(session: &Session, records: &[CategoryRecord]) -> Result<(), StoreError> {
    for chunk in records.chunks(CHUNK) {
        let folded: Vec<_> = chunk.iter().map(|record| record.category.name.folded()).collect();
        let ids = numbers(chunk, |record| record.category.id.get());
        let names = list(chunk, |record| record.category.name.as_str());
        let folded: Vec<&str> = folded.iter().map(FoldedName::as_str).collect();
        let descriptions =
            list(chunk, |record| record.category.description.as_ref().map(Description::as_str));
        let versions = numbers(chunk, |record| record.version.get());
        let pets = numbers(chunk, |record| record.pets);
        insert(session, CATEGORIES, &[&ids, &names, &folded, &descriptions, &versions, &pets]).await?;
    }
    Ok(())
}

/// Inserts pets, whose categories are there.
pub(super) async fn pets(session: &Session, records: &[PetRecord]) -> Result<(), StoreError> {
    for chunk in records.chunks(CHUNK) {
        let folded: Vec<_> = chunk.iter().map(|record| record.pet.name.folded()).collect();
        let ids = numbers(chunk, |record| record.pet.id.get());
        let names = list(chunk, |record| record.pet.name.as_str());
        let folded: Vec<&str> = folded.iter().map(FoldedName::as_str).collect();
        let categories = numbers(chunk, |record| record.pet.category_id.get());
        let statuses = list(chunk, |record| record.pet.status.as_str());
        let versions = numbers(chunk, |record| record.version.get());
        let stock = numbers(chunk, |record| record.stock);
        let item_versions = numbers(chunk, |record| record.item_version.get());
        let open_orders = numbers(chunk, |record| record.open_orders.into());
        let parameters: [&dyn Parameter; 9] =
            [&ids, &names, &folded, &categories, &statuses, &versions, &stock, &item_versions, &open_orders];
        insert(session, PETS, &parameters).await?;
    }
    Ok(())
}

/// Inserts orders.
pub(super) async fn orders(session: &Session, records: &[OrderRecord]) -> Result<(), StoreError> {
    for chunk in records.chunks(CHUNK) {
        let ids = numbers(chunk, |record| record.order.id.get());
        let pets = numbers(chunk, |record| record.order.pet_id.get());
        let quantities = list(chunk, |record| i32::try_from(record.order.quantity.get()).unwrap_or(i32::MAX));
        let dates = list(chunk, |record| stored_option(record.order.ship_date));
        let complete = list(chunk, |record| record.order.complete);
        let versions = numbers(chunk, |record| record.version.get());
        insert(session, ORDERS, &[&ids, &pets, &quantities, &dates, &complete, &versions]).await?;
    }
    Ok(())
}

async fn insert(session: &Session, sql: &str, parameters: &[&dyn Parameter]) -> Result<(), StoreError> {
    let inserted = async {
        let statement = session.prepared(sql).await?;
        session.execute(&statement, parameters).await
    };
    inserted.await.map(drop).map_err(|error| failed("insert the rows of an import or a reset", error))
}

fn list<'r, R, T>(records: &'r [R], of: impl Fn(&'r R) -> T) -> Vec<T> {
    records.iter().map(of).collect()
}

/// Numbers beyond the range of a column fail its CHECK.
fn numbers<R>(records: &[R], of: impl Fn(&R) -> u64) -> Vec<i64> {
    records.iter().map(|record| i64::try_from(of(record)).unwrap_or(i64::MAX)).collect()
}
