//! The client report: how well a client of the petstore behaves, as far as its requests show it.
//!
//! Each rule is a pure function over the requests of one client, in the order of their arrival, and has a file in
//! `rules`. A rule names the requests that prove a finding. The crate reads no journal, no clock and no header of a
//! transport: its owner fills [`ClientRequest`], and writes a [`Report`] as JSON.

mod cause;
mod credential;
mod judgement;
mod link;
mod report;
mod request;
mod rules;
#[cfg(test)]
mod tests;
mod text;

pub use judgement::{Finding, Severity};
pub use report::{ClientReport, Report, RuleReport, RuleVerdict};
pub use request::{ClientAnswer, ClientRequest, RequestEnd};
pub use rules::{ATTEMPTS_MAX, RULES, Rule};
