//! The section of a client: its verdict, what it should change, its time line, the rules, and its requests.

use std::fmt::{self, Formatter};

use super::content::PageClient;
use super::labels::{Tag, client_name};
use super::markup::count;
use super::selection::Selection;
use super::{Budget, requests_table, rules_table, timeline};

/// Writes the section. `level` is that of its heading.
pub(super) fn write(
    f: &mut Formatter<'_>,
    client: &PageClient<'_>,
    id: &str,
    level: u8,
    budget: &Budget,
) -> fmt::Result {
    let selection = Selection::new(client, budget);
    let name = client_name(client);
    let below = level + 1;
    writeln!(
        f,
        "<section id=\"{id}\" class=\"client\" tabindex=\"-1\" aria-labelledby=\"{id}-name\">\n<h{level} id=\"{id}-name\">{} {name} \
         <span class=\"quiet\">{}</span></h{level}>",
        Tag(client.verdict()),
        count(client.requests.len(), "request")
    )?;
    writeln!(f, "<h{below}>Time line</h{below}>")?;
    if let Some(first) = selection.all.first() {
        writeln!(
            f,
            "<p class=\"quiet\">The sandbox's time, from {} on. A mark with a finding leads to it, another one to its request.</p>",
            first.at
        )?;
    }
    timeline::write(f, &selection, id, &name)?;
    writeln!(f, "<h{below}>Rules</h{below}>")?;
    rules_table::write(f, &selection, id, &name)?;
    writeln!(f, "<h{below}>Requests</h{below}>")?;
    if let Some(sentence) = selection.left_out() {
        writeln!(f, "<p class=\"left-out\">{sentence}</p>")?;
    }
    requests_table::write(f, &selection, id, &name)?;
    f.write_str("</section>\n")
}
