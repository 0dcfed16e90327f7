//! Webhooks that get further types of events: events of those types that were passed over are read again.

use petstore_domain::{Event, EventKinds, Position, SeenTypes};
use petstore_ports::LogEnd;

use super::bounds::TAKEN_MAX;
use super::endpoint::Endpoint;

impl Endpoint {
    /// Reads the log again for types of events that the webhook got before its last progress was saved, and that the program
    /// which saved it did not know yet.
    pub(super) fn catch_up_on_types(&mut self) {
        let Some(SeenTypes { kinds, certain_to }) = self.progress.seen.take() else { return };
        if kinds.or(self.filter.kinds) != kinds {
            let confirmed = LogEnd { epoch: self.progress.epoch, last: certain_to };
            self.read_again(kinds, confirmed);
        }
    }

    /// Notes with which types of events the log was read. They were read when it ended at `confirmed`.
    pub(super) fn note_types(&mut self, confirmed: LogEnd) {
        let is_known = confirmed.epoch == self.progress.epoch;
        let seen = SeenTypes { kinds: self.filter.kinds, certain_to: confirmed.last };
        self.progress.seen = is_known.then_some(seen);
    }

    /// Reads the log again after a place, for the events of types that it did not get before.
    pub(super) fn read_again(&mut self, before: EventKinds, confirmed: LogEnd) {
        let progress = &mut self.progress;
        let start = self.webhook.run.after.filter(|start| start.epoch == progress.epoch);
        let place = confirmed.last.max(start.map_or(Position::START, |start| start.position));
        if progress.epoch == confirmed.epoch && place < progress.scanned {
            self.taken_before.retain(|(_, scanned)| *scanned > place);
            if self.taken_before.len() < TAKEN_MAX {
                self.taken_before.push((before, progress.scanned));
            }
            progress.scanned = place;
            // A restart reads from there, too: the new types are saved already.
            self.is_dirty = true;
        }
    }

    /// The positions of the events of a page that were not taken before.
    pub(super) fn new_positions(&self, events: &[Event]) -> Vec<Position> {
        let is_new = |event: &&Event| {
            let is_in = |(kinds, scanned): &(EventKinds, Position)| {
                event.id.position <= *scanned && kinds.admits(event.happening.kind())
            };
            !self.taken_before.iter().any(is_in)
        };
        events.iter().filter(is_new).map(|event| event.id.position).collect()
    }
}
