//! The list at the beginning of a page: each rule that is broken, once, with what to change and where it was broken.

use std::fmt::{self, Formatter};

use super::content::{PageFinding, PagePart, PageRule};
use super::labels::client_name;
use super::markup::{Sentence, text};
use super::selection::clients_shown;
use crate::judgement::Severity;
use crate::report::RuleVerdict;

/// The number of broken rules that the list has.
const RULES_MAX: usize = 20;

/// The number of places that the list has for a rule.
const PLACES_MAX: usize = 20;

/// A rule that is broken, and the places in the order of the page.
pub(super) struct BrokenRule<'p> {
    name: &'p str,
    /// The first breach.
    breach: Option<&'p PageFinding<'p>>,
    places: Vec<Place<'p>>,
}

/// A client that broke a rule.
struct Place<'p> {
    /// The row of the rule; none if the page does not show the client.
    id: Option<String>,
    /// The place of its part.
    part: usize,
    /// The short name of its part.
    part_name: Option<&'p str>,
    /// The name of the client, unless it is the only one of its part.
    client: Option<String>,
}

/// Returns the broken rules, in the order of the page.
pub(super) fn broken_rules<'p>(parts: &'p [PagePart<'p>]) -> Vec<BrokenRule<'p>> {
    let shown = clients_shown(parts);
    let mut found: Vec<BrokenRule<'p>> = Vec::new();
    for (part, content) in parts.iter().enumerate() {
        let is_alone = content.clients.len() == 1;
        for (place, client) in content.clients.iter().enumerate() {
            let is_shown = shown.get(part).is_some_and(|shown| place < *shown);
            for rule in client.rules.iter().filter(|rule| rule.verdict == RuleVerdict::Broken) {
                let place = Place {
                    id: is_shown.then(|| format!("p{part}c{place}-{}", rule.name)),
                    part,
                    part_name: content.title.as_deref().map(short),
                    client: (!is_alone).then(|| client_name(client)),
                };
                match found.iter_mut().find(|broken| broken.name == rule.name) {
                    Some(broken) => broken.places.push(place),
                    None => found.push(BrokenRule {
                        name: rule.name,
                        breach: first_breach(rule),
                        places: vec![place],
                    }),
                }
            }
        }
    }
    found
}

fn first_breach<'p>(rule: &'p PageRule<'p>) -> Option<&'p PageFinding<'p>> {
    rule.findings.iter().find(|finding| finding.severity == Severity::Breach)
}

/// Returns the name of a part, which its heading has before a colon.
fn short(title: &str) -> &str {
    title.split_once(": ").map_or(title, |(name, _)| name)
}

/// Returns the number of parts in which a rule is broken.
pub(super) fn parts_of(broken: &[BrokenRule<'_>]) -> usize {
    let mut parts: Vec<_> = broken.iter().flat_map(|rule| &rule.places).map(|place| place.part).collect();
    parts.sort_unstable();
    parts.dedup();
    parts.len()
}

/// Writes the list.
pub(super) fn write(f: &mut Formatter<'_>, broken: &[BrokenRule<'_>]) -> fmt::Result {
    f.write_str("<h2 class=\"off-screen\">What to change</h2>\n<ul class=\"changes\">\n")?;
    for rule in broken.iter().take(RULES_MAX) {
        write_rule(f, rule)?;
    }
    if let Some(more @ 1..) = broken.len().checked_sub(RULES_MAX) {
        writeln!(f, "<li class=\"left-out\">and {more} more below</li>")?;
    }
    f.write_str("</ul>\n")
}

fn write_rule(f: &mut Formatter<'_>, rule: &BrokenRule<'_>) -> fmt::Result {
    let name = rule.name;
    let lone = match &rule.places[..] {
        [Place { id, part_name: None, client: None, .. }] => Some(id.as_deref()),
        _ => None,
    };
    match lone.flatten() {
        Some(id) => write!(f, "<li><a href=\"#{id}\">{name}</a>")?,
        None => write!(f, "<li><b>{name}</b>")?,
    }
    if let Some(breach) = rule.breach {
        write!(f, " {} <span class=\"advice\">{}</span>", Sentence(breach.reason), Sentence(breach.advice))?;
    }
    if lone.is_none() {
        write_places(f, rule)?;
    }
    f.write_str("</li>\n")
}

fn write_places(f: &mut Formatter<'_>, rule: &BrokenRule<'_>) -> fmt::Result {
    f.write_str("<span class=\"places\">")?;
    for (number, place) in rule.places.iter().take(PLACES_MAX).enumerate() {
        f.write_str(if number == 0 { "See " } else { ", " })?;
        let names = [place.part_name.map(|name| text(name).to_string()), place.client.clone()];
        let name = names.into_iter().flatten().collect::<Vec<_>>().join(", ");
        match &place.id {
            // Spoken without the sentence around it, a link has to say which rule it leads to.
            Some(id) => {
                write!(f, "<a href=\"#{id}\" aria-label=\"{name}: {}\">{name}</a>", rule.name)?;
            }
            None => f.write_str(&name)?,
        }
    }
    if let Some(more @ 1..) = rule.places.len().checked_sub(PLACES_MAX) {
        write!(f, " and {more} more below")?;
    }
    f.write_str("</span>")
}
