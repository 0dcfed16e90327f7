//! The requests and findings of a client that a page shows.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use super::content::{PageClient, PagePart, PageRequest, PageRule};
use super::{
    Budget, CLIENTS_OF_PAGE_MAX, CLIENTS_OF_PART_MAX, FINDINGS_OF_RULE_MAX, PARTS_MAX, REQUESTS_OF_CLIENT_MAX,
};
use crate::judgement::Severity;

/// Returns the number of clients that have a section, for each part that is shown.
pub(super) fn clients_shown(parts: &[PagePart<'_>]) -> Vec<usize> {
    let mut left = CLIENTS_OF_PAGE_MAX;
    let shown = parts.iter().take(PARTS_MAX).map(|part| {
        let shown = part.clients.len().min(CLIENTS_OF_PART_MAX).min(left);
        left -= shown;
        shown
    });
    shown.collect()
}

/// A finding that names a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Named<'s> {
    pub(super) rule: &'s str,
    pub(super) severity: Severity,
    /// The place among the findings of the rule, from 1; 0 if the page does not show the finding.
    pub(super) place: usize,
}

/// The part of a client's requests and findings that a page shows.
pub(super) struct Selection<'s> {
    /// The rules, the worst verdict first, each with the number of its findings that are shown.
    pub(super) rules: Vec<(&'s PageRule<'s>, usize)>,
    /// All requests of the client, in the order of arrival.
    pub(super) all: &'s [PageRequest<'s>],
    /// The places in `all` of those that are shown, in the order of arrival.
    pub(super) shown: Vec<usize>,
    /// Their numbers.
    sequences: HashSet<u64>,
    /// The findings that name a request as the one that did not follow a rule.
    named: HashMap<u64, Vec<Named<'s>>>,
    /// The findings that name a request as evidence against a later one.
    proven: HashMap<u64, Vec<Named<'s>>>,
}

impl<'s> Selection<'s> {
    pub(super) fn new(client: &'s PageClient<'s>, budget: &Budget) -> Self {
        let mut rules: Vec<_> = client.rules.iter().collect();
        rules.sort_by_key(|rule| Reverse(rule.verdict));
        let rules: Vec<_> = rules
            .into_iter()
            .map(|rule| {
                let wanted = rule.findings.len().min(FINDINGS_OF_RULE_MAX);
                (rule, Budget::take(&budget.findings, wanted))
            })
            .collect();
        let proving = rules.iter().flat_map(|(rule, shown)| &rule.findings[..*shown]);
        let proving = proving.flat_map(|finding| &finding.requests).copied();
        let all = &client.requests[..];
        let places: HashMap<u64, usize> =
            all.iter().zip(0..).map(|(request, place)| (request.sequence, place)).collect();
        let room = Budget::take(&budget.requests, all.len().min(REQUESTS_OF_CLIENT_MAX));
        let mut chosen = BTreeMap::new();
        for sequence in proving.chain(all.iter().map(|request| request.sequence)) {
            if chosen.len() >= room {
                break;
            }
            if let Some(place) = places.get(&sequence) {
                chosen.insert(*place, sequence);
            }
        }
        let named = named(&rules);
        let proven = proven(&rules, &named);
        Self {
            sequences: chosen.values().copied().collect(),
            shown: chosen.into_keys().collect(),
            rules,
            all,
            named,
            proven,
        }
    }

    /// Returns the requests that are shown, each with its place among all.
    pub(super) fn requests(&self) -> impl Iterator<Item = (usize, &'s PageRequest<'s>)> {
        self.shown.iter().filter_map(|place| Some((*place, self.all.get(*place)?)))
    }

    /// Returns whether the page shows a request.
    pub(super) fn has(&self, sequence: u64) -> bool {
        self.sequences.contains(&sequence)
    }

    /// Returns the findings that name a request as the one that did not follow a rule.
    pub(super) fn named(&self, sequence: u64) -> &[Named<'s>] {
        self.named.get(&sequence).map_or(&[], Vec::as_slice)
    }

    /// Returns the shown findings that name a request as evidence against a later one: the first of each rule to which
    /// [`Self::named`] does not lead.
    pub(super) fn proven(&self, sequence: u64) -> &[Named<'s>] {
        self.proven.get(&sequence).map_or(&[], Vec::as_slice)
    }

    /// Returns a sentence about the requests that are left out.
    pub(super) fn left_out(&self) -> Option<String> {
        let (shown, all) = (self.shown.len(), self.all.len());
        (shown < all).then(|| {
            format!(
                "The picture and the table have {shown} of {all} requests: those that the findings above name, and the first of the others."
            )
        })
    }
}

fn named<'s>(rules: &[(&'s PageRule<'s>, usize)]) -> HashMap<u64, Vec<Named<'s>>> {
    let mut named: HashMap<u64, Vec<Named<'s>>> = HashMap::new();
    for (rule, shown) in rules {
        for (finding, place) in rule.findings.iter().zip(1..) {
            let place = if place <= *shown { place } else { 0 };
            if let Some(last) = finding.requests.last() {
                named.entry(*last).or_default().push(Named {
                    rule: rule.name,
                    severity: finding.severity,
                    place,
                });
            }
        }
    }
    named
}

fn proven<'s>(
    rules: &[(&'s PageRule<'s>, usize)],
    named: &HashMap<u64, Vec<Named<'s>>>,
) -> HashMap<u64, Vec<Named<'s>>> {
    let mut proven: HashMap<u64, Vec<Named<'s>>> = HashMap::new();
    for (rule, shown) in rules {
        let leads = |other: &Named<'_>| other.rule == rule.name && other.place > 0;
        for (finding, place) in rule.findings.iter().take(*shown).zip(1..) {
            let before = finding.requests.split_last().map_or(&[][..], |(_, before)| before);
            for sequence in before {
                let own = named.get(sequence).map_or(&[][..], Vec::as_slice);
                let others = proven.entry(*sequence).or_default();
                if !own.iter().chain(&*others).any(leads) {
                    others.push(Named { rule: rule.name, severity: finding.severity, place });
                }
            }
        }
    }
    proven
}
