//! Query strings of the routes of a sandbox.

mod report;
mod requests;
mod scope;
mod sinks;

pub(super) use report::client_report;
pub(super) use requests::{RecordForm, RecordQuery, keeps_journal, sandbox_request, sandbox_requests};
pub(super) use scope::{rule_filter, stream_header};
pub(super) use sinks::{settle_within, sink_requests};
