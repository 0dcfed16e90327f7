//! The report as a page: one HTML document with its style and its pictures, without scripts and without requests to elsewhere.
//!
//! A page has one part for a sandbox, and one for each scenario of an exam. A part has a section for each client: the time line
//! of its requests as a picture, the rules with their findings, and the requests as a table. Findings and requests link to each
//! other. The bounds below keep the page of a long journal small; the page says what they leave out.

mod axis;
mod changes;
mod client_section;
mod content;
mod labels;
mod mark;
mod markup;
mod moment;
mod overview;
mod requests_table;
mod rules_table;
mod selection;
mod table;
#[cfg(test)]
mod tests;
mod timeline;

use std::cell::Cell;
use std::fmt::{self, Display, Formatter};

pub use content::{PageAnswer, PageClient, PageFinding, PagePart, PageRequest, PageRule};
use markup::text;

/// The number of parts that a page shows.
pub const PARTS_MAX: usize = 100;

/// The number of clients of a part that have a section.
pub const CLIENTS_OF_PART_MAX: usize = 20;

/// The number of clients that have a section, in all parts.
pub const CLIENTS_OF_PAGE_MAX: usize = 200;

/// The number of findings of a rule that a page shows.
pub const FINDINGS_OF_RULE_MAX: usize = 20;

/// The number of findings that a page shows.
pub const FINDINGS_OF_PAGE_MAX: usize = 2_000;

/// The number of requests of a client that a page shows: first those that its findings name.
pub const REQUESTS_OF_CLIENT_MAX: usize = 400;

/// The number of requests that a page shows.
pub const REQUESTS_OF_PAGE_MAX: usize = 4_000;

/// The number of lines that a page shows of what a program printed.
const PRINTED_LINES_MAX: usize = 20;

/// The style of the page.
const STYLE: &str = include_str!("page/style.css");

/// The content security policy of the page, which has no script and loads nothing. The page contains it, because it may be opened
/// as a file.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// A page about the behaviour of clients. Its text is HTML.
#[derive(Debug, Clone, Copy)]
pub struct ReportPage<'p> {
    /// The name of the page, such as `Client report`.
    pub title: &'p str,
    /// The parts, in the order in which they are shown.
    pub parts: &'p [PagePart<'p>],
}

/// The findings and requests that a page may still show.
struct Budget {
    findings: Cell<usize>,
    requests: Cell<usize>,
}

impl Budget {
    /// Takes as much as is left, and no more than is wanted.
    fn take(left: &Cell<usize>, wanted: usize) -> usize {
        let taken = wanted.min(left.get());
        left.set(left.get() - taken);
        taken
    }
}

impl Display for ReportPage<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (title, verdict) = (text(self.title), overview::verdict_of(self.parts));
        write!(
            f,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}: {verdict}</title>\n\
             <style>{STYLE}</style>\n</head>\n<body>\n{}<main>\n",
            mark::Shapes
        )?;
        overview::write(f, self)?;
        let budget =
            Budget { findings: Cell::new(FINDINGS_OF_PAGE_MAX), requests: Cell::new(REQUESTS_OF_PAGE_MAX) };
        let clients_shown = selection::clients_shown(self.parts);
        for ((number, part), clients) in self.parts.iter().enumerate().zip(clients_shown) {
            write_part(f, part, number, clients, &budget)?;
        }
        if let Some(more @ 1..) = self.parts.len().checked_sub(PARTS_MAX) {
            writeln!(
                f,
                "<p class=\"left-out\">The page has the first {PARTS_MAX} parts; {more} more are left out.</p>"
            )?;
        }
        f.write_str("</main>\n</body>\n</html>\n")
    }
}

/// Writes the last lines that a program printed.
fn write_printed(f: &mut Formatter<'_>, printed: &str) -> fmt::Result {
    let lines: Vec<_> = printed.trim_end().lines().collect();
    f.write_str("<details class=\"printed\"><summary>The end of its output</summary><pre tabindex=\"0\">")?;
    for line in &lines[lines.len().saturating_sub(PRINTED_LINES_MAX)..] {
        writeln!(f, "{}", text(line))?;
    }
    f.write_str("</pre></details>\n")
}

fn write_part(
    f: &mut Formatter<'_>,
    part: &PagePart<'_>,
    number: usize,
    clients_shown: usize,
    budget: &Budget,
) -> fmt::Result {
    let level = if part.title.is_some() { 3 } else { 2 };
    writeln!(f, "<section id=\"p{number}\" class=\"part\" tabindex=\"-1\">")?;
    if let Some(title) = &part.title {
        writeln!(f, "<h2>{} {}</h2>", labels::PartTag(part), text(title))?;
    }
    if let Some(ended) = &part.ended {
        let class = if part.has_failed { "ended failed" } else { "ended" };
        writeln!(f, "<p class=\"{class}\">{}</p>", text(ended))?;
    }
    if let Some(printed) = &part.printed {
        write_printed(f, printed)?;
    }
    for (place, client) in part.clients.iter().take(clients_shown).enumerate() {
        let id = format!("p{number}c{place}");
        client_section::write(f, client, &id, level, budget)?;
    }
    if part.clients.is_empty() {
        f.write_str("<p class=\"empty\">No request arrived.</p>\n")?;
    }
    let clients = part.clients.len();
    if clients > clients_shown {
        writeln!(
            f,
            "<p class=\"left-out\">The page has the first {clients_shown} of {clients} clients here; the report as JSON has all of \
             them.</p>"
        )?;
    }
    f.write_str("</section>\n")
}
