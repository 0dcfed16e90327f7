//! The client report: how well a client of the petstore behaves, as far as the journal of a sandbox shows it.
//!
//! Each rule is a pure function over the requests of one client, in the order of their arrival, and has a file in
//! `rules`. A rule names the requests that prove a finding. The crate has no clock and no transport.

mod advice;
mod cause;
mod credential;
mod hints;
mod json;
mod judgement;
mod link;
mod page;
mod report;
mod request;
mod rules;
#[cfg(test)]
mod tests;
mod text;

pub use cause::wait_asked;
pub use credential::client_prefix;
pub use hints::hints;
pub use judgement::{Finding, Proof, Severity};
pub use page::{
    CLIENTS_OF_PAGE_MAX, CLIENTS_OF_PART_MAX, FINDINGS_OF_PAGE_MAX, FINDINGS_OF_RULE_MAX, PARTS_MAX,
    PageAnswer, PageClient, PageFinding, PagePart, PageRequest, PageRule, REQUESTS_OF_CLIENT_MAX,
    REQUESTS_OF_PAGE_MAX, ReportPage,
};
pub use report::{ClientReport, Report, RuleReport, RuleVerdict};
pub use rules::{ATTEMPTS_MAX, RULES, Rule};
