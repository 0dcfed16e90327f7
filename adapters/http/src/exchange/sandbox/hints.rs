//! The hints of the client report, as the journal shows them.

use petstore_request_journal::{Hints, RequestRecord};

/// Returns the rules of the client report that name each record.
pub(super) fn hints_of(records: &[RequestRecord]) -> Hints {
    petstore_client_report::hints(records)
}
