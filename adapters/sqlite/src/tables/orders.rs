//! The table of orders.

use petstore_domain::{Order, OrderId, OrderQuantity, OrderRecord, PetId, Version};
use petstore_ports::StoreError;
use rusqlite::{Statement, params};

use crate::table::{Fields, Table, written};

impl Table for OrderRecord {
    const NAME: &'static str = "orders";
    const SELECT: &'static str =
        "SELECT id, pet_id, quantity, ship_date, complete, version FROM orders ORDER BY id";
    const INSERT: &'static str = "INSERT INTO orders (id, pet_id, quantity, ship_date, complete, version)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    const OR_UPDATE: &'static str = "ON CONFLICT (id) DO UPDATE SET pet_id = excluded.pet_id,
         quantity = excluded.quantity, ship_date = excluded.ship_date, complete = excluded.complete,
         version = excluded.version";

    fn bind(&self, statement: &mut Statement<'_>) -> rusqlite::Result<usize> {
        let Order { id, pet_id, quantity, ship_date, complete } = &self.order;
        statement.execute(params![
            id.get(),
            pet_id.get(),
            quantity.get(),
            written(*ship_date),
            complete,
            self.version.get(),
        ])
    }

    fn parse(row: &mut Fields<'_>) -> Result<Self, StoreError> {
        let order = Order {
            id: row.number("id", OrderId::new)?,
            pet_id: row.number("pet_id", PetId::new)?,
            quantity: row
                .number("quantity", |units| OrderQuantity::new(i64::try_from(units).unwrap_or(0)))?,
            ship_date: row.optional_time("ship_date")?,
            complete: row.number("complete", |number| match number {
                0 => Ok(false),
                1 => Ok(true),
                _ => Err("must be 0 or 1"),
            })?,
        };
        let version = row.number("version", |number| Version::new(number).ok_or("must be at least 1"))?;
        Ok(Self { order, version })
    }
}
