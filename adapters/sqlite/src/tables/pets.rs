//! The table of pets.

use petstore_domain::{CategoryId, Pet, PetId, PetName, PetRecord, PetStatus, Version};
use petstore_ports::StoreError;
use rusqlite::{Statement, params};

use crate::table::{Fields, Table};

impl Table for PetRecord {
    const NAME: &'static str = "pets";
    const SELECT: &'static str = "SELECT id, name, category_id, status, version, stock, item_version, open_orders FROM pets ORDER BY id";
    const INSERT: &'static str =
        "INSERT INTO pets (id, name, category_id, status, version, stock, item_version, open_orders)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    const OR_UPDATE: &'static str = "ON CONFLICT (id) DO UPDATE SET name = excluded.name,
         category_id = excluded.category_id, status = excluded.status, version = excluded.version,
         stock = excluded.stock, item_version = excluded.item_version, open_orders = excluded.open_orders";
    // An order does not change the pet's category, so this update need not search the index and check the foreign key.
    const SHORTCUT: Option<&'static str> = Some(
        "UPDATE pets SET name = ?2, status = ?4, version = ?5, stock = ?6, item_version = ?7, open_orders = ?8
         WHERE id = ?1 AND category_id = ?3",
    );

    fn bind(&self, statement: &mut Statement<'_>) -> rusqlite::Result<usize> {
        statement.execute(params![
            self.pet.id.get(),
            self.pet.name.as_str(),
            self.pet.category_id.get(),
            self.pet.status.as_str(),
            self.version.get(),
            self.stock,
            self.item_version.get(),
            self.open_orders,
        ])
    }

    fn parse(row: &mut Fields<'_>) -> Result<Self, StoreError> {
        let version = |number| Version::new(number).ok_or("must be at least 1");
        let id = row.number("id", PetId::new)?;
        let name = row.text("name", PetName::parse)?;
        let category_id = row.number("category_id", CategoryId::new)?;
        let status = row.text("status", |word| PetStatus::parse(word).ok_or("is not a status"))?;
        let record = Self {
            pet: Pet { id, name, category_id, status },
            version: row.number("version", version)?,
            stock: row.plain("stock")?,
            item_version: row.number("item_version", version)?,
            open_orders: row.plain("open_orders")?,
        };
        // The CHECKs of the table require the same, but another program may have disabled them.
        if record.is_sound() {
            Ok(record)
        } else {
            Err(row.damaged("status", "does not fit stock and open_orders"))
        }
    }
}
