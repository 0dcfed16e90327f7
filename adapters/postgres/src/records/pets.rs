//! Pets with their stock.

use petstore_domain::{PetRecord, StoredMembers};
use petstore_ports::StoreError;

use super::{Fields, Record};

impl Record for PetRecord {
    const TABLE: &'static str = "pets";
    const COLUMNS: &'static str = <Self as StoredMembers>::COLUMNS;

    fn read(fields: &mut Fields<'_>) -> Result<Self, StoreError> {
        let record: Self = StoredMembers::read(fields)?;
        if record.is_sound() {
            Ok(record)
        } else {
            Err(StoreError::corrupt("pets: the column status does not fit stock and open_orders"))
        }
    }
}
