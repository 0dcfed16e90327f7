//! The webhooks of a dispatcher by state, and the oldest event that they have not got.

use petstore_domain::{EventFilter, MasterKeyId, Position, Timestamp};
use petstore_ports::{EventQuery, EventRead, SortDirection};

use super::endpoint::Endpoint;
use super::machine::Machine;
use super::stats::WebhookCounts;

/// The number of positions that are read to find the time of an event.
const POSITIONS_MAX: u64 = 1_000;

/// A place in the event log: the first event after it that passes is the oldest one that a webhook has not got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unsettled {
    pub(super) epoch: u64,
    pub(super) after: Position,
    filter: EventFilter,
}

/// The state of a look-up of the oldest event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LookedUp {
    /// There is no such event.
    Nothing,
    /// The event after this place is being read.
    Reading(Unsettled),
    /// The event after this place was read.
    Found(Unsettled),
}

impl LookedUp {
    /// Takes the present place, and returns it if it is to be read.
    pub(super) fn next(&mut self, place: Option<Unsettled>) -> Option<Unsettled> {
        match (*self, place) {
            (Self::Reading(_), Some(_)) => None,
            (_, None) => {
                *self = Self::Nothing;
                None
            }
            (Self::Found(known), Some(place)) if known == place => None,
            (Self::Found(_) | Self::Nothing, Some(place)) => {
                *self = Self::Reading(place);
                Some(place)
            }
        }
    }

    /// Takes the end of a read. Returns whether its result counts.
    pub(super) fn found(&mut self, place: Unsettled) -> bool {
        let is_current = *self == Self::Reading(place);
        if is_current {
            *self = Self::Found(place);
        }
        is_current
    }
}

/// The webhooks at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Overview {
    pub(super) counts: WebhookCounts,
    /// The oldest events that active and failing webhooks have not got.
    pub(super) oldest: [Option<Unsettled>; 2],
}

impl Machine {
    /// Counts the webhooks. Those of other nodes are counted only if they are disabled.
    pub(super) fn overview(&self, master: Option<MasterKeyId>) -> Overview {
        let mut overview = Overview::default();
        for webhook in self.known() {
            if !webhook.is_enabled() {
                overview.counts.disabled += 1;
            } else if Some(webhook.secret.master) != master {
                overview.counts.without_key += 1;
            }
        }
        let served = self.held.values();
        for endpoint in
            served.filter(|endpoint| !endpoint.is_ending() && Some(endpoint.webhook.secret.master) == master)
        {
            let counts = &mut overview.counts;
            if self.permits.of(endpoint.account) == Some(false) {
                counts.withheld += 1;
                continue;
            }
            let [of_active, of_failing] = &mut overview.oldest;
            let (count, oldest) =
                if endpoint.progress.failing_since.is_some() || endpoint.progress.is_unreadable {
                    (&mut counts.failing, of_failing)
                } else {
                    (&mut counts.active, of_active)
                };
            *count += 1;
            let place = endpoint.unsettled().filter(|place| place.epoch == self.head.epoch);
            if let Some(place) = place.filter(|place| oldest.is_none_or(|oldest| place.after < oldest.after))
            {
                *oldest = Some(place);
            }
        }
        overview
    }
}

impl Endpoint {
    /// The oldest event that the webhook has not got.
    fn unsettled(&self) -> Option<Unsettled> {
        let epoch = self.progress.epoch;
        match self.progress.pending.first() {
            Some(first) => {
                Some(Unsettled { epoch, after: first.position.before(), filter: EventFilter::ALL })
            }
            None if self.is_caught_up => None,
            None => Some(Unsettled { epoch, after: self.progress.scanned, filter: self.filter }),
        }
    }
}

impl Unsettled {
    pub(super) const fn query(&self) -> EventQuery {
        EventQuery {
            epoch: Some(self.epoch),
            order: SortDirection::Ascending,
            after: Some(self.after),
            filter: self.filter,
            events_max: 1,
            positions_max: POSITIONS_MAX,
        }
    }

    /// The time of the event in the result of the read.
    pub(super) fn time_in(read: &EventRead) -> Option<Timestamp> {
        match read {
            EventRead::Page(page) => page.events.first().map(|event| event.at),
            EventRead::Expired(_) => None,
        }
    }
}
