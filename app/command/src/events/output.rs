//! The form and the number of the events that are printed.

use std::ops::ControlFlow;

use super::line;
use super::page::ReceivedEvent;
use crate::failure::Failure;
use crate::terminal::print_while_read;

/// Prints events until their number is reached.
#[derive(Debug)]
pub(super) struct Output {
    is_json: bool,
    /// The number of events that are still to be printed; none without a limit.
    left: Option<u64>,
    /// The id of the last event that was printed.
    pub(super) last_printed: Option<String>,
}

impl Output {
    pub(super) const fn new(is_json: bool, limit: Option<u64>) -> Self {
        Self { is_json, left: limit, last_printed: None }
    }

    /// The number of events to request next. It is the number that is still to be printed, but at most `max`.
    pub(super) fn wanted(&self, max: u64) -> u64 {
        self.left.map_or(max, |left| left.min(max))
    }

    /// Prints an event. Breaks after the last one, or if standard output is closed.
    pub(super) fn print(&mut self, event: &ReceivedEvent) -> Result<ControlFlow<()>, Failure> {
        let line = if self.is_json { line::json(event) } else { line::text(&event.fields) };
        if print_while_read(&line)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        self.last_printed = Some(event.fields.id.clone());
        self.left = self.left.map(|left| left.saturating_sub(1));
        Ok(if self.left == Some(0) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// A failure of this source. The message has the id after which the command can continue.
    pub(super) fn failure(&self, source: &str, why: &str) -> Failure {
        let last = self.last_printed.as_ref();
        let last = last.map(|id| format!(" (the last event printed was {id})")).unwrap_or_default();
        Failure::because(format!("{source}: {why}{last}"))
    }
}
