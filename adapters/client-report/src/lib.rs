//! The client report: how well a client of the petstore behaves, as far as the journal of a sandbox shows it.
//!
//! Each rule is a pure function over the requests of one client, in the order of their arrival, and has a file in
//! `rules`. A rule names the requests that prove a finding. The crate has no clock and no transport.

mod cause;
mod credential;
mod hints;
mod json;
mod judgement;
mod link;
mod report;
mod request;
mod rules;
#[cfg(test)]
mod tests;
mod text;

pub use hints::hints;
pub use judgement::{Finding, Proof, Severity};
pub use report::{ClientReport, Report, RuleReport, RuleVerdict};
pub use rules::{ATTEMPTS_MAX, RULES, Rule};
