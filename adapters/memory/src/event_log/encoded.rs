//! Events in the compact form, for the journal and the ring.

use petstore_domain::{Changes, Position, Timestamp};
use petstore_event_codec::Body;
use petstore_ports::EventBatch;

/// Events of one or more decisions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Encoded<'a> {
    /// The groups of a body, without its format byte.
    pub(super) groups: &'a [u8],
    pub(super) count: u32,
    /// The latest time of the events.
    pub(super) latest: Timestamp,
}

impl<'a> Encoded<'a> {
    /// The events of a body. Their latest time is `latest`.
    pub(crate) fn of(body: &'a Body, latest: Timestamp) -> Self {
        Self { groups: &body.as_bytes()[FORMAT_LEN..], count: body.events(), latest }
    }
}

/// Number of bytes of a body before its groups of events.
const FORMAT_LEN: usize = 1;

/// The events of a batch. They are encoded once; the journal gets them as one body, the ring gets the part of each
/// decision.
#[derive(Debug, Default)]
pub(crate) struct EncodedBatch {
    body: Body,
    /// For each decision: the end of its events in the body, their number, and the time of the decision.
    decisions: Vec<(usize, u32, Timestamp)>,
}

impl EncodedBatch {
    /// Encodes the events of decisions, in the order of the decisions. Replaces the events of the previous batch.
    pub(crate) fn encode(&mut self, decided: &[Changes]) {
        self.body.clear();
        self.decisions.clear();
        for changes in decided {
            let before = self.body.events();
            self.body.push(changes.at(), changes.happenings());
            let count = self.body.events() - before;
            self.decisions.push((self.body.as_bytes().len(), count, changes.at()));
        }
    }

    /// The events of each decision.
    pub(crate) fn decisions(&self) -> impl Iterator<Item = Encoded<'_>> {
        let mut begin = FORMAT_LEN;
        self.decisions.iter().map(move |&(end, count, latest)| {
            let groups = &self.body.as_bytes()[begin..end];
            begin = end;
            Encoded { groups, count, latest }
        })
    }

    /// The events in the form in which the journal keeps them; none if the batch has no events. Their first position
    /// follows `last`.
    pub(crate) fn as_batch(&self, last: Position) -> Option<EventBatch<'_>> {
        let first = last.next();
        let end = Position::new(last.get() + u64::from(self.body.events())).unwrap_or(Position::MAX);
        let with_events = self.decisions.iter().filter(|(_, count, _)| *count > 0);
        let latest = with_events.map(|(_, _, at)| *at).max()?;
        Some(EventBatch { first, last: end, latest, body: self.body.as_bytes() })
    }
}
