//! Times as `timestamptz`.

use chrono::{DateTime, Utc};
use petstore_domain::Timestamp;
use petstore_ports::StoreError;

use super::Fields;

/// The form of a time that the driver writes.
pub(crate) fn stored(time: Timestamp) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(time.as_millis()).expect("a timestamp is in the years 1 to 9999")
}

/// The form of an optional time that the driver writes.
pub(crate) fn stored_option(time: Option<Timestamp>) -> Option<DateTime<Utc>> {
    time.map(stored)
}

impl Fields<'_> {
    /// The next column, a time.
    pub(crate) fn time(&mut self) -> Result<Timestamp, StoreError> {
        self.parsed(|time: DateTime<Utc>| Timestamp::from_millis(time.timestamp_millis()))
    }

    /// The next column, a time or null.
    pub(crate) fn optional_time(&mut self) -> Result<Option<Timestamp>, StoreError> {
        self.parsed(|time: Option<DateTime<Utc>>| {
            time.map(|time| Timestamp::from_millis(time.timestamp_millis())).transpose()
        })
    }
}
