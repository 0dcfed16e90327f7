//! The time line of a client as a picture: its requests as marks, and the waits that answers asked for as bars below them.
//!
//! Places on the axis are percentages, so that the picture is as wide as the page, while marks and texts keep their size. The
//! table of the requests has the same in words.

use std::fmt::{self, Formatter};

use petstore_domain::Timestamp;

use super::axis::{Axis, Tick, secs_between};
use super::content::{PageAnswer, PageRequest};
use super::mark::Mark;
use super::markup::{count, text};
use super::moment::length;
use super::selection::{Named, Selection};
use crate::judgement::Severity;

/// The width, in pixels, from which a picture is scrolled. Marks that would touch at this width are one below the other.
const WIDTH_MIN: f64 = 720.0;

/// The share of the picture left of the axis, and that of the axis.
const LEFT: f64 = 0.025;
const AXIS: f64 = 0.94;

/// Pixels that a mark needs, with those of a number beside it.
const MARK_WIDTH: f64 = 27.0;
const COUNT_WIDTH: f64 = 36.0;

/// Pixels of a row of marks, of a row of bars, and of the texts below the axis.
const ROW: usize = 34;
const BAR_ROW: usize = 22;
const TICKS: usize = 30;

/// The numbers of rows. Further marks join others, or lie over them.
const ROWS_MAX: usize = 7;
const BAR_ROWS_MAX: usize = 4;

/// Pixels that a bar with its text needs.
const BAR_TEXT: f64 = 64.0;

/// The seconds by which the ends of two bars may differ that are drawn as one.
const SAME_END: f64 = 1.0;

/// Equal requests that would touch, drawn as one mark with their number.
struct Run<'r> {
    request: &'r PageRequest<'r>,
    mark: Mark,
    named: &'r [Named<'r>],
    count: usize,
    place: f64,
}

/// A wait that answers asked for.
struct Wait {
    from: f64,
    to: f64,
    secs: f64,
    until: Timestamp,
}

/// Writes the picture of a client. `id` is that of its section.
pub(super) fn write(f: &mut Formatter<'_>, selection: &Selection<'_>, id: &str, name: &str) -> fmt::Result {
    let axis = axis_of(selection);
    let (runs, mark_rows) = placed(runs_of(selection, &axis));
    let waits = waits_of(selection, &axis);
    let bar_rows =
        rows(waits.iter().map(|wait| (wait.from, (wait.to - wait.from).max(share(BAR_TEXT)))), BAR_ROWS_MAX);
    let rows_of = |rows: &[usize]| rows.iter().max().map_or(0, |row| row + 1);
    let bars_top = rows_of(&mark_rows) * ROW + 8;
    let axis_top = bars_top + rows_of(&bar_rows) * BAR_ROW;
    legend(f, &runs, !waits.is_empty())?;
    writeln!(
        f,
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Picture: requests of {name}\">\n\
         <svg class=\"time\" width=\"100%\" height=\"{}\" role=\"group\" aria-labelledby=\"{id}-title {id}-desc\">\n\
         <title id=\"{id}-title\">Requests of {name} in time</title>\n<desc id=\"{id}-desc\">{}</desc>",
        axis_top + TICKS,
        description(selection, &waits)
    )?;
    writeln!(f, "<path class=\"axis\" d=\"M0 {axis_top}H9999\"/>")?;
    for (wait, row) in waits.iter().zip(bar_rows) {
        write_wait(f, wait, bars_top + row * BAR_ROW)?;
    }
    for (run, row) in runs.iter().zip(mark_rows) {
        write_run(f, run, row * ROW + ROW / 2 + 6, id)?;
    }
    for tick in axis.ticks() {
        write_tick(f, &tick, axis_top)?;
    }
    f.write_str("</svg>\n</div>\n")
}

/// Returns the axis of all requests of a client, and of the waits that they ask for.
fn axis_of(selection: &Selection<'_>) -> Axis {
    let times: Vec<_> = selection.all.iter().map(|request| request.at).collect();
    // What was before the last turn of the clock says nothing about the end.
    let turn = times.windows(2).rposition(|pair| pair[1] < pair[0]).map_or(0, |place| place + 1);
    let ends = selection.all.iter().skip(turn);
    let ends = ends.flat_map(|request| [Some(request.at), request.ended, request.wait_until]);
    let end = ends.flatten().max().unwrap_or(Timestamp::EPOCH);
    Axis::new(&times, end)
}

/// Returns the requests that are drawn, and joins equal ones that would touch.
fn runs_of<'r>(selection: &'r Selection<'r>, axis: &Axis) -> Vec<Run<'r>> {
    let mut runs: Vec<Run<'r>> = Vec::new();
    for (place, request) in selection.requests() {
        let (mark, named) = (Mark::of(request.answer), selection.named(request.sequence));
        let at = axis.place(place);
        let is_same = |run: &&mut Run<'_>| {
            run.mark == mark
                && rules_of(run.named).eq(rules_of(named))
                && (at - run.place).abs() < share(MARK_WIDTH)
        };
        match runs.last_mut().filter(is_same) {
            Some(run) => run.count += 1,
            None => runs.push(Run { request, mark, named, count: 1, place: at }),
        }
    }
    runs
}

/// Places the marks in rows. Where the rows are full, a mark joins the one before it if both are of the same kind, whatever
/// their findings are: numbers that lie over each other could not be read.
fn placed(runs: Vec<Run<'_>>) -> (Vec<Run<'_>>, Vec<usize>) {
    let rows = rows(runs.iter().map(|run| (run.place, run.width())), ROWS_MAX);
    let mut placed: (Vec<Run<'_>>, Vec<usize>) = (Vec::new(), Vec::new());
    for (run, row) in runs.into_iter().zip(rows) {
        let is_crowded = |last: &&mut Run<'_>| {
            last.mark == run.mark && (run.place - last.place).abs() < last.width().max(run.width())
        };
        let was_last = row + 1 == ROWS_MAX && placed.1.last() == Some(&row);
        if let Some(last) = placed.0.last_mut().filter(|_| was_last).filter(is_crowded) {
            last.count += run.count;
            if worst(run.named) > worst(last.named) {
                last.named = run.named;
            }
        } else {
            placed.0.push(run);
            placed.1.push(row);
        }
    }
    placed
}

fn rules_of<'n>(named: &'n [Named<'n>]) -> impl Iterator<Item = &'n str> {
    named.iter().map(|named| named.rule)
}

impl Run<'_> {
    fn width(&self) -> f64 {
        share(MARK_WIDTH + if self.count > 1 { COUNT_WIDTH } else { 0.0 })
    }
}

/// Returns the waits that answers of shown requests asked for. Those that end together are one.
fn waits_of(selection: &Selection<'_>, axis: &Axis) -> Vec<Wait> {
    let mut waits: Vec<Wait> = Vec::new();
    for (place, request) in selection.requests() {
        let (Some(end), Some(until)) = (request.ended, request.wait_until) else { continue };
        let (begun, secs) = (secs_between(request.at, end), secs_between(end, until));
        if secs <= 0.0 || waits.iter().any(|wait| secs_between(wait.until, until).abs() < SAME_END) {
            continue;
        }
        let (from, to) = (axis.place_after(place, begun), axis.place_after(place, begun + secs));
        waits.push(Wait { from, to, secs, until });
    }
    waits
}

/// Returns the row of each thing, given its place and its width: the first in which it touches no other, or the last one.
fn rows(things: impl Iterator<Item = (f64, f64)>, rows_max: usize) -> Vec<usize> {
    let mut free: Vec<(f64, f64)> = Vec::new();
    let mut placed = Vec::new();
    for (place, width) in things {
        // A place may be left of the one before, if the clock was turned back.
        let fits = |taken: &(f64, f64)| place >= taken.1 || place + width <= taken.0;
        let row = free.iter().position(fits).unwrap_or_else(|| free.len().min(rows_max - 1));
        match free.get_mut(row) {
            Some(taken) => *taken = (taken.0.min(place), taken.1.max(place + width)),
            None => free.push((place, place + width)),
        }
        placed.push(row);
    }
    placed
}

/// Returns the share of the axis that is so many pixels of the narrowest picture.
fn share(pixels: f64) -> f64 {
    pixels / (WIDTH_MIN * AXIS)
}

/// Returns a place of the axis as a share of the picture.
fn percent(place: f64) -> f64 {
    (LEFT + AXIS * place) * 100.0
}

fn legend(f: &mut Formatter<'_>, runs: &[Run<'_>], has_waits: bool) -> fmt::Result {
    let sample = |shape: &str| {
        format!(
            "<svg width=\"26\" height=\"26\" viewBox=\"-13 -13 26 26\" aria-hidden=\"true\" focusable=\"false\"><use href=\"#{shape}\"/></svg>"
        )
    };
    f.write_str("<ul class=\"legend\" aria-label=\"Marks of the picture\">")?;
    for mark in Mark::ALL.into_iter().filter(|mark| runs.iter().any(|run| run.mark == *mark)) {
        write!(f, "<li>{}{}</li>", sample(&format!("m{}", mark.letter())), mark.meaning())?;
    }
    for (severity, meaning) in [(Severity::Breach, "breach of a rule"), (Severity::Hint, "hint")] {
        if runs.iter().any(|run| worst(run.named) == Some(severity)) {
            write!(f, "<li>{}{meaning}</li>", sample(severity.as_str()))?;
        }
    }
    if has_waits {
        f.write_str(
            "<li><svg width=\"34\" height=\"14\" aria-hidden=\"true\" focusable=\"false\"><rect class=\"wait\" x=\"1\" y=\"1\" \
             width=\"32\" height=\"12\"/></svg>wait that an answer asked for</li>",
        )?;
    }
    f.write_str("</ul>\n")
}

fn description(selection: &Selection<'_>, waits: &[Wait]) -> String {
    let requests = count(selection.shown.len(), "request");
    let waits = match waits.len() {
        0 => String::new(),
        number => format!(" {} that answers asked for.", count(number, "wait")),
    };
    format!("Time goes to the right. {requests}.{waits} The table of the requests has the same in words.")
}

fn worst(named: &[Named<'_>]) -> Option<Severity> {
    named.iter().map(|named| named.severity).max()
}

fn write_wait(f: &mut Formatter<'_>, wait: &Wait, top: usize) -> fmt::Result {
    let (from, to) = (percent(wait.from), percent(wait.to));
    let secs = length(wait.secs);
    writeln!(
        f,
        "<g><title>Wait of {secs} that an answer asked for</title><rect class=\"wait\" x=\"{from:.2}%\" y=\"{top}\" \
         width=\"{:.2}%\" height=\"14\"/><svg x=\"{from:.2}%\" y=\"{top}\" overflow=\"visible\"><text class=\"on-bar\" x=\"5\" \
         y=\"11\">{secs}</text></svg></g>",
        (to - from).max(0.2)
    )
}

fn write_run(f: &mut Formatter<'_>, run: &Run<'_>, middle: usize, id: &str) -> fmt::Result {
    let sequence = run.request.sequence;
    let x = percent(run.place);
    let name = name_of(run);
    let flagged = worst(run.named);
    let shown = run
        .named
        .iter()
        .rev()
        .max_by_key(|named| (named.severity, named.place > 0))
        .filter(|named| named.place > 0);
    let target = match shown {
        Some(named) => format!("{id}-{}-{}", named.rule, named.place),
        None => format!("{id}r{sequence}"),
    };
    // Only marks with findings are stops of the keyboard: the table has all requests.
    let stop = if flagged.is_some() { "" } else { " tabindex=\"-1\"" };
    write!(
        f,
        "<a href=\"#{target}\"{stop}><title>{name}</title><svg x=\"{x:.2}%\" y=\"{middle}\" \
         overflow=\"visible\"><use href=\"#m{}\"/>",
        run.mark.letter()
    )?;
    if let Some(severity) = flagged {
        write!(f, "<use href=\"#{}\" x=\"9\" y=\"-11\"/>", severity.as_str())?;
    }
    if run.count > 1 {
        write!(f, "<text class=\"number\" x=\"13\" y=\"6\">×{}</text>", run.count)?;
    }
    f.write_str("</svg></a>\n")
}

/// Returns the name of a mark, which a screen reader speaks and a mouse shows.
fn name_of(run: &Run<'_>) -> String {
    let request = run.request;
    let answer = match request.answer {
        PageAnswer::Sent { status, .. } => status.to_string(),
        _ => run.mark.meaning().to_owned(),
    };
    // The name has what the mark shows, so that it can be spoken to a voice control.
    let more = if run.count > 1 { format!(" (×{} in a row)", run.count) } else { String::new() };
    let findings: Vec<_> =
        run.named.iter().map(|named| format!("; {}: {}", named.severity.as_str(), named.rule)).collect();
    format!(
        "Request {}{more}: {} {}: {answer}{}",
        request.sequence,
        text(request.method),
        text(request.target),
        findings.concat()
    )
}

fn write_tick(f: &mut Formatter<'_>, tick: &Tick, top: usize) -> fmt::Result {
    let (place, label) = match tick {
        Tick::Time(place, secs) | Tick::Cut(place, secs) => (*place, length(*secs)),
        Tick::Turn(place) => (*place, "clock turned back".to_owned()),
    };
    let x = percent(place);
    match tick {
        Tick::Time(..) => writeln!(
            f,
            "<svg x=\"{x:.2}%\" y=\"{top}\" overflow=\"visible\"><path class=\"axis\" d=\"M0 0V5\"/><text class=\"tick\" \
             y=\"19\">{label}</text></svg>"
        ),
        Tick::Cut(..) | Tick::Turn(..) => writeln!(
            f,
            "<svg x=\"{x:.2}%\" y=\"{top}\" overflow=\"visible\"><path class=\"gap\" d=\"M-5 6 1-6H5L-1 6z\"/><path class=\"axis\" \
             d=\"M-5 6 1-6M-1 6 5-6\"/><text class=\"tick\" y=\"19\">({label})</text></svg>"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::rows;

    #[test]
    fn things_that_touch_are_one_below_the_other_and_rows_are_few() {
        let things = [(0.0, 0.1), (0.05, 0.1), (0.12, 0.1), (0.5, 0.1)];
        assert_eq!(rows(things.into_iter(), 9), [0, 1, 0, 0]);
        assert_eq!(rows([(0.0, 1.0); 5].into_iter(), 3), [0, 1, 2, 2, 2]);
        assert_eq!(rows([(0.5, 0.1), (0.1, 0.1)].into_iter(), 3), [0, 0]);
    }
}
