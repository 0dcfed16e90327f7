//! Categories.

use petstore_domain::{CategoryRecord, StoredMembers};
use petstore_ports::StoreError;

use super::{Fields, Record};

impl Record for CategoryRecord {
    const TABLE: &'static str = "categories";
    const COLUMNS: &'static str = <Self as StoredMembers>::COLUMNS;

    fn read(fields: &mut Fields<'_>) -> Result<Self, StoreError> {
        StoredMembers::read(fields)
    }
}
