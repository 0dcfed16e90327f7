//! The beginning of a page: the verdict about all clients, what to change, and the list of the parts.

use std::fmt::{self, Formatter};

use super::changes::{self, BrokenRule};
use super::content::PagePart;
use super::labels::{FAILED, PartTag, Tag};
use super::markup::{count, text};
use super::{PARTS_MAX, ReportPage};
use crate::report::RuleVerdict;

/// Returns the worst verdict of all parts as a word.
pub(super) fn verdict_of(parts: &[PagePart<'_>]) -> &'static str {
    if parts.iter().any(|part| part.has_failed) { "failed" } else { worst(parts).as_str() }
}

fn worst(parts: &[PagePart<'_>]) -> RuleVerdict {
    parts.iter().map(PagePart::verdict).max().unwrap_or(RuleVerdict::Untested)
}

/// Writes the beginning.
pub(super) fn write(f: &mut Formatter<'_>, page: &ReportPage<'_>) -> fmt::Result {
    let broken = changes::broken_rules(page.parts);
    let failed = page.parts.iter().filter(|part| part.has_failed).count();
    let tag = if failed > 0 { FAILED.to_owned() } else { Tag(worst(page.parts)).to_string() };
    writeln!(
        f,
        "<header>\n<p class=\"page-title\">{}</p>\n<h1>{tag} {}</h1>",
        text(page.title),
        sentence(page, &broken, failed)
    )?;
    if !broken.is_empty() {
        changes::write(f, &broken)?;
    }
    f.write_str("</header>\n")?;
    if page.parts.iter().any(|part| part.title.is_some()) {
        write_parts(f, page.parts)?;
    }
    Ok(())
}

fn sentence(page: &ReportPage<'_>, broken: &[BrokenRule<'_>], failed: usize) -> String {
    let is_empty = page.parts.iter().all(|part| part.clients.is_empty());
    let rules = match (broken.len(), worst(page.parts)) {
        _ if is_empty => "No request arrived".to_owned(),
        (1, _) => "1 rule is broken".to_owned(),
        (number @ 2.., _) => format!("{number} rules are broken"),
        (0, RuleVerdict::Hint) => "No rule is broken; there are hints".to_owned(),
        (0, RuleVerdict::Kept) => "Every rule that was tested is kept".to_owned(),
        (0, _) => "No rule was tested".to_owned(),
    };
    let parts = page.parts.len();
    let rules = match changes::parts_of(broken) {
        0 => rules,
        _ if parts == 1 => rules,
        places => format!("{rules} in {places} of {parts} scenarios"),
    };
    match failed {
        0 => rules,
        _ => format!("The command failed in {failed} of {}; {rules}", count(parts, "scenario")),
    }
}

/// Returns the rules with a verdict about a client of a part.
fn names(part: &PagePart<'_>, verdict: RuleVerdict) -> String {
    let rules = part.clients.iter().flat_map(|client| &client.rules);
    let mut names: Vec<_> = rules.filter(|rule| rule.verdict == verdict).map(|rule| rule.name).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

fn write_parts(f: &mut Formatter<'_>, parts: &[PagePart<'_>]) -> fmt::Result {
    writeln!(
        f,
        "<h2>Scenarios</h2>\n<table class=\"parts\" role=\"table\"><caption class=\"off-screen\">Scenarios</caption>\n<thead role=\"rowgroup\">\
         <tr role=\"row\">{}</tr></thead>\n<tbody role=\"rowgroup\">",
        ["Scenario", "Verdict", "Rules", "The command"]
            .map(|word| format!("<th role=\"columnheader\" scope=\"col\">{word}</th>"))
            .concat()
    )?;
    for (number, part) in parts.iter().take(PARTS_MAX).enumerate() {
        let (broken, hints) = (names(part, RuleVerdict::Broken), names(part, RuleVerdict::Hint));
        let broken = if broken.is_empty() { String::new() } else { format!("broken: {broken}") };
        let hints = if hints.is_empty() {
            String::new()
        } else {
            format!("<span class=\"quiet\">hint: {hints}</span>")
        };
        let both =
            [broken, hints].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("<br>");
        writeln!(
            f,
            "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\"><a href=\"#p{number}\">{}</a></th><td role=\"cell\">{}</td>\
             <td role=\"cell\">{both}</td><td role=\"cell\">{}</td></tr>",
            text(part.title.as_deref().unwrap_or("Report")),
            PartTag(part),
            text(part.ended.as_deref().unwrap_or_default())
        )?;
    }
    f.write_str("</tbody></table>\n")
}
