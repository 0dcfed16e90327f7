//! Orders.

use petstore_domain::{OrderRecord, StoredMembers};
use petstore_ports::StoreError;

use super::{Fields, Record};

impl Record for OrderRecord {
    const TABLE: &'static str = "orders";
    const COLUMNS: &'static str = <Self as StoredMembers>::COLUMNS;

    fn read(fields: &mut Fields<'_>) -> Result<Self, StoreError> {
        StoredMembers::read(fields)
    }
}
