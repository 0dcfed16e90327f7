//! The rules, one in a file.

mod backs_off;
mod follows_pages;
mod gives_up;
mod growing_pauses;
mod guards_changes;
mod heeds_deprecation;
mod keeps_connections;
mod one_credential;
mod retries_safely;
mod revalidates;
mod spares_its_quota;
mod waits;

use std::collections::HashSet;
use std::time::Duration;

use crate::judgement::Judgement;
use crate::request::ClientRequest;

/// The number of identical attempts that may fail in a row, unless the reader of the report sets another one.
pub const ATTEMPTS_MAX: u32 = 5;

/// The time within which an equal request counts as a repetition.
const REPETITION: Duration = Duration::from_mins(1);

/// A rule of good behaviour.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The name, in which reports, filters and documents refer to the rule.
    pub name: &'static str,
    /// A sentence that says what a client does.
    pub summary: &'static str,
    /// The documents that the rule follows from.
    pub source: &'static str,
    judge: for<'a, 'b> fn(&Evidence<'a, 'b>) -> Judgement<'a>,
}

/// The requests that rules judge.
pub(crate) struct Evidence<'a, 'b> {
    /// The requests of one client, in the order of arrival.
    pub(crate) requests: &'b [&'b ClientRequest<'a>],
    /// The cursors that the server gave to any client.
    pub(crate) cursors: &'b HashSet<&'b str>,
    /// The number of identical attempts that may fail in a row.
    pub(crate) attempts_max: u32,
}

/// All rules, in the order of a report.
pub const RULES: [Rule; 11] = [
    Rule {
        name: "waits",
        summary: "sends nothing before the Retry-After of a 429, a 503 or a ban has passed",
        source: "the specification, Limits",
        judge: waits::judge,
    },
    Rule {
        name: "backs-off",
        summary: "waits longer while attempts fail, and at least as long as Retry-After says",
        source: "the specification, Limits, rule 3, and practice: an overload needs time to end",
        judge: backs_off::judge,
    },
    Rule {
        name: "spares-its-quota",
        summary: "sends nothing while the last answer said that no request is left",
        source: "draft-ietf-httpapi-ratelimit-headers-11",
        judge: spares_its_quota::judge,
    },
    Rule {
        name: "retries-safely",
        summary: "repeats a POST without a result only with the same Idempotency-Key",
        source: "the contract, Idempotency-Key",
        judge: retries_safely::judge,
    },
    Rule {
        name: "gives-up",
        summary: "ends identical attempts that fail in a row, and stops when its key is revoked",
        source: "practice: endless retries prolong an outage",
        judge: gives_up::judge,
    },
    Rule {
        name: "revalidates",
        summary: "asks again for a resource with If-None-Match",
        source: "RFC 9110, section 13.1.2",
        judge: revalidates::judge,
    },
    Rule {
        name: "guards-changes",
        summary: "changes a resource that it has read only with If-Match",
        source: "RFC 9110, section 13.1.1",
        judge: guards_changes::judge,
    },
    Rule {
        name: "follows-pages",
        summary: "asks for pages only by cursors of the server",
        source: "the contract, pages",
        judge: follows_pages::judge,
    },
    Rule {
        name: "heeds-deprecation",
        summary: "no longer calls an operation whose answer had the header Deprecation",
        source: "RFC 9745, RFC 8594",
        judge: heeds_deprecation::judge,
    },
    Rule {
        name: "one-credential",
        summary: "sends one key, in a header",
        source: "the contract, authentication",
        judge: one_credential::judge,
    },
    Rule {
        name: "keeps-connections",
        summary: "sends several requests over one connection",
        source: "RFC 9112, section 9.3",
        judge: keeps_connections::judge,
    },
];

impl Rule {
    /// Returns the rule with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        RULES.iter().find(|rule| rule.name == name)
    }

    pub(crate) fn judge<'a>(&self, evidence: &Evidence<'a, '_>) -> Judgement<'a> {
        (self.judge)(evidence)
    }
}

/// Writes a duration for a reader, in seconds with one decimal.
fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}
