//! The journal of a sandbox: the latest requests that reached the API, with their answers.
//!
//! A tester reads it to see what a client has sent, and to assert it in a test. The crate has the record, the bounded
//! store, the filter of a query, and the forms in which a record is shown. It has no clock and no transport: times are
//! arguments, and the transport records what it received and sent.
//!
//! Records contain no secret: credentials are masked before a record is made ([`masked`]).

mod body;
mod curl;
mod filter;
mod har;
mod header_lines;
mod json;
mod masking;
mod record;
mod store;
mod text;

pub use body::RecordedBody;
pub use curl::push_curl;
pub use filter::{RecordFilter, StatusFilter};
pub use har::{HAR_END, push_har_entry, push_har_start};
pub use header_lines::HeaderLines;
pub use json::{RecordView, push_record, push_summary};
pub use masking::{KEY_DIGITS_MIN, is_credential_name, masked, masked_fields, masked_header, masked_target};
pub use record::{
    AnswerOutcome, Hints, Protocol, RecordedAnswer, RecordedQuota, RecordedRequest, RequestRecord, ToolCall,
};
pub use store::{JournalBounds, JournalPage, RecordTicket, RequestJournal};
pub use text::{is_active, plain_json};
