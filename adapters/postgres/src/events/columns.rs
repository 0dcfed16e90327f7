//! Columns of the event log.

use petstore_domain::Position;
use petstore_ports::StoreError;

use crate::records::Fields;

pub(super) fn epoch(fields: &mut Fields<'_>) -> Result<u64, StoreError> {
    fields.parsed(|digits| u64::from_str_radix(digits, 16))
}

pub(super) fn position(fields: &mut Fields<'_>) -> Result<Position, StoreError> {
    fields.number(|number| Position::new(number).ok_or("is too large"))
}
