//! Reading the event log for webhooks: one read for all that have reached the head, and one for each that is behind.

use petstore_domain::{Event, EventFilter, Timestamp, WebhookId};
use petstore_ports::{EventBounds, EventQuery, EventRead, LogEnd, SortDirection, StoreErrorKind};

use super::bounds::{FAILURE_PAUSE, POSITIONS_MAX};
use super::endpoint::Endpoint;
use super::machine::{Machine, turns};

/// The number of events of a page.
const EVENTS_MAX: usize = 100;

/// The number of reads for webhooks that are behind the head, at a time.
const READS_MAX: usize = 8;

/// The result of a read: a page, or the kind of its failure.
pub(super) type ReadResult = Result<EventRead, StoreErrorKind>;

/// A part of the log that is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogRead {
    /// The webhook for which it is read; none for all webhooks at the head.
    pub(super) webhook: Option<WebhookId>,
    pub(super) query: EventQuery,
}

const fn page(
    webhook: Option<WebhookId>,
    after: LogEnd,
    filter: EventFilter,
    events_max: usize,
    positions_max: u64,
) -> LogRead {
    let query = EventQuery {
        epoch: Some(after.epoch),
        order: SortDirection::Ascending,
        after: Some(after.last),
        filter,
        events_max,
        positions_max,
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
        if self.is_head_damaged {
            // No webhook joins the others where the log is damaged.
            (self.head, self.is_head_damaged) = (end, false);
        }
        // The page that is being read at the head may lack the events of a webhook that joins meanwhile.
        if !self.is_reading_head {
            self.join_head();
            if self.behind.len() == self.held.len() {
                self.head = end;
            } else if end.last > self.head.last {
                self.is_reading_head = true;
                let filter = EventFilter { kinds: self.kinds, account: None };
                reads.push(page(None, self.head, filter, EVENTS_MAX, POSITIONS_MAX));
            }
        }
        for id in turns(self.behind.iter(), self.read_last) {
            if self.reads == READS_MAX {
                break;
            }
            let Some(endpoint) = self.held.get_mut(&id) else { continue };
            let room = endpoint.progress.room();
            let is_behind = !endpoint.is_up_to(self.head) && now >= endpoint.read_after;
            if !endpoint.is_reading && is_behind && room > 0 {
                endpoint.is_reading = true;
                self.reads += 1;
                self.read_last = Some(id);
                let place = LogEnd { epoch: endpoint.progress.epoch, last: endpoint.progress.scanned };
                let (events, positions) = (room.min(EVENTS_MAX), endpoint.positions_max);
                reads.push(page(Some(id), place, endpoint.filter, events, positions));
            }
        }
        reads
    }

    /// Lets the webhooks that have reached the head read together with the others there.
    fn join_head(&mut self) {
        let (endpoints, head) = (&mut self.held, self.head);
        self.behind.retain(|id| endpoints.get_mut(id).is_some_and(|endpoint| !endpoint.join(head)));
    }

    /// Takes the result of a read. One that failed is repeated. If the log is damaged there, only the webhooks that have to
    /// read this place wait.
    pub(super) fn read(&mut self, of: &LogRead, result: &ReadResult, now: Timestamp) {
        if matches!(result, Err(kind) if *kind != StoreErrorKind::Corrupt) {
            self.read_after = now.plus(FAILURE_PAUSE);
        }
        match of.webhook {
            None => self.read_head(of, result, now),
            Some(id) => self.read_behind(id, of, result, now),
        }
    }

    fn read_head(&mut self, of: &LogRead, result: &ReadResult, now: Timestamp) {
        self.is_reading_head = false;
        if of.query.epoch != Some(self.head.epoch) || of.query.after != Some(self.head.last) {
            return;
        }
        match result {
            // Each webhook at the head finds by itself which events it cannot read.
            Err(StoreErrorKind::Corrupt) => self.leave_head(),
            Err(_) => {}
            Ok(EventRead::Expired(bounds)) => self.expire_head(bounds),
            Ok(EventRead::Page(page)) => {
                for event in &page.events {
                    self.deliver(event, now);
                }
                self.head.last = page.reached;
            }
        }
    }

    /// Lets each webhook at the head read by itself.
    fn leave_head(&mut self) {
        for endpoint in self.held.values_mut() {
            endpoint.leave_head(self.head);
        }
        self.behind = self.held.keys().copied().collect();
        self.is_head_damaged = true;
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

    /// Another log has begun, or the log goes on in another epoch. In the latter case the store has moved what it has saved to
    /// that epoch. So the webhooks are given up, and claimed again with what the store has of them.
    fn restart(&mut self, end: LogEnd) {
        let is_other = |endpoint: &Endpoint| endpoint.progress.epoch != end.epoch;
        let others: Vec<_> = self.held.iter().filter(|(_, it)| is_other(it)).map(|(id, _)| *id).collect();
        self.is_reclaiming |= !others.is_empty();
        for id in others {
            self.end(id);
        }
        for endpoint in self.held.values_mut() {
            endpoint.is_caught_up = false;
        }
        self.behind = self.held.keys().copied().collect();
        self.head = end;
        self.is_reading_head = false;
    }

    fn read_behind(&mut self, id: WebhookId, of: &LogRead, result: &ReadResult, now: Timestamp) {
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
            // The damage may be behind events that can be read. Shorter pages find them.
            Err(StoreErrorKind::Corrupt) if of.query.positions_max > 1 => {
                endpoint.positions_max = of.query.positions_max / 2;
            }
            Err(StoreErrorKind::Corrupt) => endpoint.unreadable_log(now),
            Err(_) => {}
            Ok(EventRead::Expired(bounds)) if bounds.epoch != self.head.epoch => {
                self.restart(LogEnd { epoch: bounds.epoch, last: bounds.last });
            }
            Ok(EventRead::Expired(bounds)) if bounds.epoch != endpoint.progress.epoch => {
                endpoint.restart(bounds.epoch, bounds.pruned);
            }
            // A store of several nodes may not show the position yet that another node has reached.
            Ok(EventRead::Expired(bounds)) if endpoint.progress.scanned > bounds.last => {
                self.read_after = now.plus(FAILURE_PAUSE);
            }
            Ok(EventRead::Expired(_)) => endpoint.fall_behind(),
            Ok(EventRead::Page(page)) => {
                endpoint.positions_max = endpoint.positions_max.saturating_mul(2).min(POSITIONS_MAX);
                let matching = endpoint.new_positions(&page.events);
                let wake = endpoint.read(&matching, page.reached, now);
                self.schedule(id, wake, now);
            }
        }
    }
}
