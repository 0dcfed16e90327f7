//! Pets with their stock.

use petstore_domain::{CategoryId, Pet, PetId, PetName, PetRecord, PetStatus};
use petstore_ports::StoreError;

use super::{Fields, Record};

impl Record for PetRecord {
    const TABLE: &'static str = "pets";
    const COLUMNS: &'static str = "id, name, category_id, status, version, stock, item_version, open_orders";

    fn read(fields: &mut Fields<'_>) -> Result<Self, StoreError> {
        let pet = Pet {
            id: fields.number(PetId::new)?,
            name: fields.parsed(PetName::parse)?,
            category_id: fields.number(CategoryId::new)?,
            status: fields.parsed(|word| PetStatus::parse(word).ok_or("is not a status"))?,
        };
        let record = Self {
            pet,
            version: fields.version()?,
            stock: fields.number(Ok::<_, &str>)?,
            item_version: fields.version()?,
            open_orders: fields.number(|number| u32::try_from(number).map_err(|_| "is too large"))?,
        };
        if record.is_sound() {
            Ok(record)
        } else {
            Err(StoreError::corrupt("pets: the column status does not fit stock and open_orders"))
        }
    }
}
