//! The report about all clients.

use std::collections::{HashMap, HashSet};

use petstore_request_journal::RequestRecord;

use crate::judgement::{Finding, Severity};
use crate::request::ClientRequest;
use crate::rules::{Evidence, RULES, Rule};

/// The report about the clients whose requests a journal holds.
#[derive(Debug, Clone)]
pub struct Report<'a> {
    /// The clients, in the order of their first requests.
    pub clients: Vec<ClientReport<'a>>,
}

/// The report about one client: the requests with one key, or all requests without a valid key.
#[derive(Debug, Clone)]
pub struct ClientReport<'a> {
    /// The display prefix of the key.
    pub key: Option<&'a str>,
    /// The number of requests.
    pub requests: usize,
    /// Each rule, in the order of [`RULES`].
    pub rules: Vec<RuleReport<'a>>,
}

/// The result of one rule.
#[derive(Debug, Clone)]
pub struct RuleReport<'a> {
    /// The rule, which names the part of the contract that it checks.
    pub rule: &'static Rule,
    /// The number of times that the rule applied.
    pub cases: usize,
    /// The places at which the client did not follow the rule, in the order of arrival.
    pub findings: Vec<Finding<'a>>,
}

/// The verdict about a rule, or about several rules. The worst one is the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleVerdict {
    /// The rule did not apply to any request.
    Untested,
    /// The client followed the rule.
    Kept,
    /// There are hints only.
    Hint,
    /// The client broke the rule.
    Broken,
}

impl RuleVerdict {
    /// Returns the verdict as a word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Untested => "untested",
            Self::Kept => "kept",
            Self::Hint => "hint",
            Self::Broken => "broken",
        }
    }
}

impl<'a> Report<'a> {
    /// Judges the records of a journal, which are in the order of arrival.
    pub fn new(records: &'a [RequestRecord], attempts_max: u32) -> Self {
        let requests: Vec<_> = records.iter().map(ClientRequest::of).collect();
        Self::of_requests(&requests, attempts_max)
    }

    pub(crate) fn of_requests(requests: &[ClientRequest<'a>], attempts_max: u32) -> Self {
        let given = requests.iter().filter_map(|request| request.answer.as_ref()?.next_cursor);
        let cursors: HashSet<&str> = given.collect();
        let mut keys: Vec<Option<&'a str>> = Vec::new();
        let mut of_key: HashMap<Option<&str>, Vec<&ClientRequest<'a>>> = HashMap::new();
        for request in requests {
            let key = request.client();
            let of_client = of_key.entry(key).or_default();
            if of_client.is_empty() {
                keys.push(key);
            }
            of_client.push(request);
        }
        let clients = keys.into_iter().map(|key| {
            let requests = of_key.get(&key).map_or(&[][..], Vec::as_slice);
            let evidence = Evidence { requests, cursors: &cursors, attempts_max };
            let rules = RULES.iter().map(|rule| {
                let judged = rule.judge(&evidence);
                RuleReport { rule, cases: judged.cases, findings: judged.findings }
            });
            ClientReport { key, requests: requests.len(), rules: rules.collect() }
        });
        Self { clients: clients.collect() }
    }

    /// Keeps the clients whose key begins with this text, which may also be a whole key.
    #[must_use]
    pub fn of_key(mut self, text: &str) -> Self {
        let is_meant = |key: &str| key.starts_with(text) || text.starts_with(key);
        self.clients.retain(|client| client.key.is_some_and(is_meant));
        self
    }

    /// Returns the worst verdict of all clients.
    pub fn verdict(&self) -> RuleVerdict {
        self.clients.iter().map(ClientReport::verdict).max().unwrap_or(RuleVerdict::Untested)
    }

    /// Returns the worst verdict of all clients as a word, and `none` without clients.
    pub fn summary(&self) -> &'static str {
        if self.clients.is_empty() { "none" } else { self.verdict().as_str() }
    }
}

impl ClientReport<'_> {
    /// Returns the worst verdict of all rules.
    pub fn verdict(&self) -> RuleVerdict {
        self.rules.iter().map(RuleReport::verdict).max().unwrap_or(RuleVerdict::Untested)
    }
}

impl RuleReport<'_> {
    /// Returns the verdict about the rule.
    pub fn verdict(&self) -> RuleVerdict {
        match self.findings.iter().map(|finding| finding.severity).max() {
            Some(Severity::Breach) => RuleVerdict::Broken,
            Some(Severity::Hint) => RuleVerdict::Hint,
            None if self.cases == 0 => RuleVerdict::Untested,
            None => RuleVerdict::Kept,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::ATTEMPTS_MAX;
    use crate::tests::{get, numbered};

    #[test]
    fn each_key_is_judged_for_itself() {
        let requests = numbered(&[
            get(0).of_key("pet_aaaaaaaa").limited(30),
            get(5).of_key("pet_bbbbbbbb"),
            get(6).anonymous(),
            get(7).of_key("pet_bbbbbbbb").path("/pets?api_key=pet_bbbbbbbbcccc"),
        ]);
        let report = Report::of_requests(&requests, ATTEMPTS_MAX);
        let seen: Vec<_> =
            report.clients.iter().map(|client| (client.key, client.requests, client.verdict())).collect();
        assert_eq!(
            seen,
            [
                (Some("pet_aaaaaaaa"), 1, RuleVerdict::Kept),
                (Some("pet_bbbbbbbb"), 2, RuleVerdict::Broken),
                (None, 1, RuleVerdict::Untested),
            ]
        );
        assert_eq!(report.verdict(), RuleVerdict::Broken);
        for (text, clients) in [("pet_a", 1), ("pet_", 2), ("pet_bbbbbbbbcccc", 1), ("pet_c", 0)] {
            assert_eq!(report.clone().of_key(text).clients.len(), clients, "{text}");
        }
    }

    #[test]
    fn a_key_in_the_query_stands_for_its_client() {
        let requests = numbered(&[get(0).anonymous().path("/pets?api_key=pet_aaaaaaaabbb")]);
        let report = Report::of_requests(&requests, ATTEMPTS_MAX);
        assert_eq!(report.clients[0].key, Some("pet_aaaaaaaa"));
        assert_eq!(report.verdict(), RuleVerdict::Broken);
    }

    #[test]
    fn no_request_is_no_client() {
        let report = Report::new(&[], ATTEMPTS_MAX);
        assert!(report.clients.is_empty());
        assert_eq!((report.verdict(), report.summary()), (RuleVerdict::Untested, "none"));
    }

    #[test]
    fn names_are_different_and_fit_a_query() {
        let names: HashSet<_> = RULES.iter().map(|rule| rule.name).collect();
        assert_eq!(names.len(), RULES.len());
        for rule in &RULES {
            assert!(rule.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{}", rule.name);
            assert_eq!(Rule::named(rule.name).map(|found| found.name), Some(rule.name));
        }
        assert!(Rule::named("").is_none());
    }
}
