//! Reading the event log for webhooks: one read for all that have reached the head, and one for each that is behind.

use petstore_domain::{Event, EventFilter, Position, Timestamp, WebhookId};
use petstore_ports::{EventBounds, EventQuery, EventRead, LogEnd, PageOrder};

use super::machine::{FAILURE_PAUSE, Machine};

/// The number of events of a page.
const EVENTS_MAX: usize = 100;

/// The number of positions that one page reads.
const POSITIONS_MAX: u64 = 10_000;

/// The number of reads for webhooks that are behind the head, at a time.
const READS_MAX: usize = 8;

/// A part of the log that is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogRead {
    /// The webhook for which it is read; none for all webhooks at the head.
    pub(super) webhook: Option<WebhookId>,
    pub(super) query: EventQuery,
}

const fn page(webhook: Option<WebhookId>, after: LogEnd, filter: EventFilter, events_max: usize) -> LogRead {
    let query = EventQuery {
        epoch: Some(after.epoch),
        order: PageOrder::Ascending,
        after: Some(after.last),
        filter,
        events_max,
        positions_max: POSITIONS_MAX,
    };
    LogRead { webhook, query }
}

impl Machine {
    /// The reads that begin now.
    pub(super) fn reads(&mut self, end: LogEnd, now: Timestamp) -> Vec<LogRead> {
        let mut reads = Vec::new();
        if end.epoch != self.head.epoch {
            self.restart(end);
        }
        if self.is_stale {
            self.index();
        }
        if now < self.read_after {
            return reads;
        }
        // The page that is being read at the head may lack the events of a webhook that joins meanwhile.
        if !self.is_reading_head {
            self.join_head();
            if self.behind.len() == self.held.len() {
                self.head = end;
            } else if end.last > self.head.last {
                self.is_reading_head = true;
                let filter = EventFilter { kinds: self.kinds, account: None };
                reads.push(page(None, self.head, filter, EVENTS_MAX));
            }
        }
        for id in &self.behind {
            let Some(endpoint) = self.held.get_mut(id) else { continue };
            let room = endpoint.progress.room();
            if !endpoint.is_reading && !endpoint.is_up_to(self.head) && room > 0 && self.reads < READS_MAX {
                endpoint.is_reading = true;
                self.reads += 1;
                let place = LogEnd { epoch: endpoint.progress.epoch, last: endpoint.progress.scanned };
                reads.push(page(Some(*id), place, endpoint.filter, room.min(EVENTS_MAX)));
            }
        }
        reads
    }

    /// Lets the webhooks that have reached the head read together with the others there.
    fn join_head(&mut self) {
        let (endpoints, head) = (&mut self.held, self.head);
        self.behind.retain(|id| endpoints.get_mut(id).is_some_and(|endpoint| !endpoint.join(head)));
    }

    /// Takes the result of a read; none if it failed and is to be repeated.
    pub(super) fn read(&mut self, of: &LogRead, result: Option<&EventRead>, now: Timestamp) {
        if result.is_none() {
            self.read_after = now.plus(FAILURE_PAUSE);
        }
        match of.webhook {
            None => self.read_head(of, result, now),
            Some(id) => self.read_behind(id, of, result, now),
        }
    }

    fn read_head(&mut self, of: &LogRead, result: Option<&EventRead>, now: Timestamp) {
        self.is_reading_head = false;
        if of.query.epoch != Some(self.head.epoch) || of.query.after != Some(self.head.last) {
            return;
        }
        match result {
            None => {}
            Some(EventRead::Expired(bounds)) => self.expire_head(bounds),
            Some(EventRead::Page(page)) => {
                for event in &page.events {
                    self.deliver(event, now);
                }
                self.head.last = page.reached;
            }
        }
    }

    /// Gives an event to the webhooks at the head that get it.
    fn deliver(&mut self, event: &Event, now: Timestamp) {
        let ids = self.by_kind.get(&event.happening.kind()).cloned().unwrap_or_default();
        let position = event.id.position;
        for id in ids {
            let Some(endpoint) = self.held.get_mut(&id) else { continue };
            if !endpoint.is_caught_up || !endpoint.filter.admits(&event.happening) {
                continue;
            }
            if endpoint.progress.room() == 0 {
                endpoint.is_caught_up = false;
                endpoint.read(&[], position.before(), now);
                self.behind.insert(id);
                continue;
            }
            let wake = endpoint.read(&[position], position, now);
            self.schedule(id, wake, now);
        }
    }

    /// The events at the head were dropped before they were read.
    fn expire_head(&mut self, bounds: &EventBounds) {
        let end = LogEnd { epoch: bounds.epoch, last: bounds.last };
        if bounds.epoch != self.head.epoch {
            self.restart(end);
            return;
        }
        for endpoint in self.held.values_mut().filter(|endpoint| endpoint.is_caught_up) {
            endpoint.is_caught_up = false;
            endpoint.fall_behind();
        }
        self.behind = self.held.keys().copied().collect();
        self.head = end;
    }

    /// Another log has begun.
    fn restart(&mut self, end: LogEnd) {
        for endpoint in self.held.values_mut() {
            endpoint.is_caught_up = false;
            if endpoint.progress.epoch != end.epoch {
                endpoint.restart(end.epoch, Position::START);
            }
        }
        self.behind = self.held.keys().copied().collect();
        self.head = end;
        self.is_reading_head = false;
    }

    fn read_behind(&mut self, id: WebhookId, of: &LogRead, result: Option<&EventRead>, now: Timestamp) {
        let Some(endpoint) = self.held.get_mut(&id).filter(|endpoint| endpoint.is_reading) else { return };
        endpoint.is_reading = false;
        self.reads = self.reads.saturating_sub(1);
        // A replay or other types of events make the page void.
        let progress = &endpoint.progress;
        let place = (of.query.epoch, of.query.after, of.query.filter);
        if place != (Some(progress.epoch), Some(progress.scanned), endpoint.filter) {
            return;
        }
        match result {
            None => {}
            Some(EventRead::Expired(bounds)) if bounds.epoch != endpoint.progress.epoch => {
                endpoint.restart(bounds.epoch, bounds.pruned);
            }
            // A store of several nodes may not show the position yet that another node has reached.
            Some(EventRead::Expired(bounds)) if endpoint.progress.scanned > bounds.last => {
                self.read_after = now.plus(FAILURE_PAUSE);
            }
            Some(EventRead::Expired(_)) => endpoint.fall_behind(),
            Some(EventRead::Page(page)) => {
                let matching: Vec<Position> = page.events.iter().map(|event| event.id.position).collect();
                let wake = endpoint.read(&matching, page.reached, now);
                self.schedule(id, wake, now);
            }
        }
    }
}
