//! The requests of a client as a table: the picture in words. A request that a finding names links back to it.

use std::fmt::{self, Formatter};

use petstore_domain::Timestamp;

use super::axis::secs_between;
use super::content::{PageAnswer, PageRequest};
use super::mark::Mark;
use super::markup::text;
use super::moment::length;
use super::selection::{Named, Selection};
use super::table::Table;

/// Writes the table.
pub(super) fn write(f: &mut Formatter<'_>, selection: &Selection<'_>, id: &str, name: &str) -> fmt::Result {
    write!(
        f,
        "<details open><summary>Requests of {name} as a table</summary>\n<div class=\"scroll\" tabindex=\"0\" role=\"group\" \
         aria-label=\"Table: requests of {name}\">\n"
    )?;
    let table = Table {
        class: "requests",
        caption: format_args!("Requests of {name}"),
        columns: &["Number", "Time", "Request", "Answer", "Asked to wait", "Findings"],
        names_roles: false,
    };
    let begin = selection.all.first().map_or(Timestamp::EPOCH, |first| first.at);
    table
        .write(f, selection.requests(), |f, (_, request)| write_request(f, request, begin, selection, id))?;
    f.write_str("</div></details>\n")
}

fn write_request(
    f: &mut Formatter<'_>,
    request: &PageRequest<'_>,
    begin: Timestamp,
    selection: &Selection<'_>,
    id: &str,
) -> fmt::Result {
    let sequence = request.sequence;
    let mark = Mark::of(request.answer);
    write!(
        f,
        "<tr id=\"{id}r{sequence}\" tabindex=\"-1\"><th scope=\"row\">{sequence}</th><td>{}</td>\
         <td class=\"target\"><code>{} {}</code>{}</td><td><svg width=\"26\" height=\"26\" viewBox=\"-13 -13 26 26\" aria-hidden=\"true\" \
         focusable=\"false\"><use href=\"#m{}\"/></svg>{}",
        length(secs_between(begin, request.at)),
        text(request.method),
        text(request.target),
        text_of_tool(request),
        mark.letter(),
        answer(request.answer, mark)
    )?;
    if let Some(fault) = request.fault {
        write!(f, "<span class=\"about\">planned: {}</span>", text(fault))?;
    }
    f.write_str("</td><td>")?;
    if let (Some(end), Some(until)) = (request.ended, request.wait_until) {
        f.write_str(&length(secs_between(end, until)))?;
    }
    f.write_str("</td><td>")?;
    let mut comma = "";
    for named in selection.named(sequence) {
        let (rule, severity) = (named.rule, named.severity.as_str());
        let target = if named.place == 0 { rule.to_owned() } else { format!("{rule}-{}", named.place) };
        write!(f, "{comma}<a class=\"{severity}\" href=\"#{id}-{target}\">{severity}: {rule}</a>")?;
        comma = ", ";
    }
    for Named { rule, place, .. } in selection.proven(sequence) {
        write!(f, "{comma}<a href=\"#{id}-{rule}-{place}\">evidence: {rule}</a>")?;
        comma = ", ";
    }
    f.write_str("</td></tr>\n")
}

/// Returns the tool whose call the request was made of.
fn text_of_tool(request: &PageRequest<'_>) -> String {
    request.tool.map_or_else(String::new, |tool| {
        format!("<span class=\"about\">call of the tool {}</span>", text(tool))
    })
}

/// Returns the answer in words.
fn answer(answer: PageAnswer<'_>, mark: Mark) -> String {
    match answer {
        PageAnswer::Sent { status, code: Some(code) } => format!("{status} {}", text(code)),
        PageAnswer::Sent { status, code: None } => status.to_string(),
        PageAnswer::Lost { made: Some(status) } => format!("{} ({status} was made)", mark.meaning()),
        PageAnswer::Lost { made: None } | PageAnswer::Left | PageAnswer::Open => mark.meaning().to_owned(),
    }
}
