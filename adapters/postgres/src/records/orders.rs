//! Orders.

use petstore_domain::{Order, OrderId, OrderQuantity, OrderRecord, PetId};
use petstore_ports::StoreError;

use super::{Fields, Record};

impl Record for OrderRecord {
    const TABLE: &'static str = "orders";
    const COLUMNS: &'static str = "id, pet_id, quantity, ship_date, complete, version";

    fn read(fields: &mut Fields<'_>) -> Result<Self, StoreError> {
        let order = Order {
            id: fields.number(OrderId::new)?,
            pet_id: fields.number(PetId::new)?,
            quantity: fields.parsed(|units: i32| OrderQuantity::new(units.into()))?,
            ship_date: fields.optional_time()?,
            complete: fields.plain()?,
        };
        Ok(Self { order, version: fields.version()? })
    }
}
