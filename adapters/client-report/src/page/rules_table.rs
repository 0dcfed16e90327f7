//! The rules of a client with their findings. Each finding has links to the requests that prove it.

use std::fmt::{self, Formatter};

use super::content::{PageFinding, PageRule};
use super::labels::Tag;
use super::markup::{Sentence, count, text};
use super::selection::Selection;
use super::table::Table;

/// Writes the table. A narrow page shows its cells as blocks.
pub(super) fn write(f: &mut Formatter<'_>, selection: &Selection<'_>, id: &str, name: &str) -> fmt::Result {
    let table = Table {
        class: "rules",
        caption: format_args!("Rules of {name}"),
        columns: &["Rule", "Verdict", "Findings, and what to do"],
        names_roles: true,
    };
    table.write(f, &selection.rules, |f, (rule, shown)| write_rule(f, rule, *shown, selection, id))
}

fn write_rule(
    f: &mut Formatter<'_>,
    rule: &PageRule<'_>,
    shown: usize,
    selection: &Selection<'_>,
    id: &str,
) -> fmt::Result {
    let verdict = rule.verdict;
    writeln!(
        f,
        "<tr role=\"row\" id=\"{id}-{}\" class=\"{}\" tabindex=\"-1\"><th role=\"rowheader\" scope=\"row\">{}<span class=\"about\">{}</span>\
         <span class=\"about\">Source: {}</span></th>\n<td role=\"cell\">{}</td>\n<td role=\"cell\">",
        rule.name,
        verdict.as_str(),
        rule.name,
        text(rule.summary),
        text(rule.source),
        Tag(verdict)
    )?;
    let cases = count(rule.cases, "case");
    match rule.found {
        0 if rule.cases == 0 => {
            f.write_str("<span class=\"quiet\">No request was a case for this rule.</span>")?;
        }
        0 => write!(f, "<span class=\"quiet\">{cases} without a finding</span>")?,
        found => {
            write!(
                f,
                "<span class=\"quiet\">{} in {cases}</span>\n<ol class=\"findings\">\n",
                count(found, "finding")
            )?;
            let mut advised = "";
            for (finding, place) in rule.findings.iter().take(shown).zip(1..) {
                let is_new = std::mem::replace(&mut advised, finding.advice) != finding.advice;
                write_finding(f, finding, is_new, selection, id, &format!("{id}-{}-{place}", rule.name))?;
            }
            f.write_str("</ol>")?;
            if found > shown {
                write!(
                    f,
                    "<p class=\"left-out\">and {} more, which are in the report as JSON</p>",
                    found - shown
                )?;
            }
        }
    }
    f.write_str("</td></tr>\n")
}

fn write_finding(
    f: &mut Formatter<'_>,
    finding: &PageFinding<'_>,
    has_advice: bool,
    selection: &Selection<'_>,
    id: &str,
    own: &str,
) -> fmt::Result {
    let severity = finding.severity.as_str();
    write!(
        f,
        "<li id=\"{own}\" tabindex=\"-1\"><b class=\"{severity}\">{severity}</b> {}",
        Sentence(finding.reason)
    )?;
    for (place, sequence) in finding.requests.iter().copied().enumerate() {
        let before = if place == 0 { " <span class=\"proofs\">Requests " } else { ", " };
        if selection.has(sequence) {
            write!(f, "{before}<a href=\"#{id}r{sequence}\">{sequence}</a>")?;
        } else {
            write!(f, "{before}{sequence}")?;
        }
    }
    if !finding.requests.is_empty() {
        f.write_str("</span>")?;
    }
    if has_advice {
        write!(f, "<p class=\"advice\">{}</p>", Sentence(finding.advice))?;
    }
    f.write_str("</li>\n")
}
