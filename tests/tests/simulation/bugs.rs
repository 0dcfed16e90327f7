//! Planted bugs. The simulation must find each of them; otherwise a run without a fault would prove nothing.
//!
//! Most bugs are planted below the recorders at the ports, where a store, its journal or its quotas could have them.
//! The others are planted around the service, where its count of requests in flight could have them. The code of the
//! server itself contains no planted bug.

mod batches;
mod events;
mod journal;
mod quotas;
mod reads;
mod webhooks;
mod writes;

use std::sync::Arc;

use petstore_ports::Journal;
use petstore_service::{DispatcherPorts, Ports};
use petstore_tests::{Disk, DiskBug};

/// A fault of the petstore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    /// The journal acknowledges a batch before it is synced.
    CommitsWithoutSync,
    /// The journal acknowledges a batch and writes it at the next call.
    AcknowledgesEarly,
    /// The journal writes an idempotency record in a later commit than its effect.
    SplitsRecordFromEffect,
    /// After a crash the store continues from the highest existing id, so the id of a deleted record is assigned again.
    ReusesIds,
    /// After a failure the journal reports the batch before the failed one as the last, although the failed batch
    /// reached the disk.
    IgnoresBatchInDoubt,
    /// The store reports success to callers when the journal fails.
    SwallowsFailures,
    /// A restart clears the usage of all accounts.
    ForgetsUsage,
    /// A restart lifts bans.
    ForgetsBans,
    /// Idempotency records are dropped half a day too early.
    PrunesLiveRecords,
    /// A clock that steps back reopens the earlier minute.
    ReopensOldWindow,
    /// The end of one request in twenty is reported, but the request stays counted as in flight.
    LosesPlaces,
    /// The end of one request in twenty is not reported, and the request stays counted as in flight.
    SkipsLeave,
    /// One request in twenty is subtracted twice from the requests in flight.
    LeavesTwice,
    /// A revoked key stays valid.
    CachesCredentials,
    /// Every other read of a pet returns the record of the previous read.
    ReadsStale,
    /// An ascending page begins one id too late, so that it can leave out an item.
    SkipsAtPages,
    /// One decision in ten uses the pet as an earlier decision saw it.
    DecidesOnStale,
    /// A cancelled order returns one unit too many.
    GivesBackTooMuch,
    /// One retry in eight has its effect a second time.
    RepeatsEffects,
    /// A decision on a pet ignores the earlier decisions of its batch.
    IgnoresBatchedPets,
    /// A decision on a name ignores the earlier decisions of its batch.
    IgnoresBatchedNames,
    /// After a restart, a page of older events leaves out the first batch.
    LosesOlderEvents,
    /// Every other page of events leaves out the first event.
    SkipsEvents,
    /// Private events are shown to every account.
    ShowsPrivateEvents,
    /// The event of each change has the type of a creation.
    MistakesEvents,
    /// A restart forgets which events webhooks got.
    ForgetsDeliveries,
    /// Every other page of events that is read for a webhook leaves out the first event.
    SkipsDeliveries,
    /// Webhooks that are disabled get events.
    DeliversToDisabled,
    /// The secrets of webhooks are not changed by a rotation.
    SignsWithOldSecrets,
    /// Webhooks get events although no valid key of their account has the scope.
    DeliversWithoutScope,
}

impl Bug {
    pub(crate) const ALL: [Self; 30] = [
        Self::CommitsWithoutSync,
        Self::AcknowledgesEarly,
        Self::SplitsRecordFromEffect,
        Self::ReusesIds,
        Self::IgnoresBatchInDoubt,
        Self::SwallowsFailures,
        Self::ForgetsUsage,
        Self::ForgetsBans,
        Self::PrunesLiveRecords,
        Self::ReopensOldWindow,
        Self::LosesPlaces,
        Self::SkipsLeave,
        Self::LeavesTwice,
        Self::CachesCredentials,
        Self::ReadsStale,
        Self::SkipsAtPages,
        Self::DecidesOnStale,
        Self::GivesBackTooMuch,
        Self::RepeatsEffects,
        Self::IgnoresBatchedPets,
        Self::IgnoresBatchedNames,
        Self::LosesOlderEvents,
        Self::SkipsEvents,
        Self::ShowsPrivateEvents,
        Self::MistakesEvents,
        Self::ForgetsDeliveries,
        Self::SkipsDeliveries,
        Self::DeliversToDisabled,
        Self::SignsWithOldSecrets,
        Self::DeliversWithoutScope,
    ];
}

/// A disk, with the planted bug if that is a bug of the disk.
pub(crate) fn disk(bug: Option<Bug>) -> Disk {
    match bug {
        Some(Bug::CommitsWithoutSync) => Disk::with_bug(DiskBug::CommitsWithoutSync),
        Some(Bug::AcknowledgesEarly) => Disk::with_bug(DiskBug::RepliesBeforeCommit),
        Some(Bug::SplitsRecordFromEffect) => Disk::with_bug(DiskBug::SplitsAnswers),
        Some(Bug::ReusesIds) => Disk::with_bug(DiskBug::ReusesIds),
        _ => Disk::new(),
    }
}

/// The journal, with the planted bug if that is a bug of the journal.
pub(crate) fn journal(bug: Option<Bug>, inner: Box<dyn Journal>) -> Box<dyn Journal> {
    match bug {
        Some(
            bug @ (Bug::IgnoresBatchInDoubt
            | Bug::ForgetsUsage
            | Bug::ForgetsBans
            | Bug::PrunesLiveRecords
            | Bug::LosesOlderEvents
            | Bug::ForgetsDeliveries),
        ) => Box::new(journal::Wrong::new(bug, inner)),
        _ => inner,
    }
}

/// The ports, with the planted bug if that is a bug of a port.
pub(crate) fn ports(bug: Option<Bug>, mut ports: Ports) -> Ports {
    let Some(bug) = bug else { return ports };
    match bug {
        Bug::ReopensOldWindow => ports.quotas = Arc::new(quotas::Wrong::new(Arc::clone(&ports.quotas))),
        Bug::CachesCredentials => ports.keys = Arc::new(reads::CachedKeys::new(Arc::clone(&ports.keys))),
        Bug::ReadsStale | Bug::SkipsAtPages => {
            ports.pets = Arc::new(reads::FaultyPets::new(bug, Arc::clone(&ports.pets)));
        }
        Bug::SwallowsFailures | Bug::DecidesOnStale | Bug::GivesBackTooMuch | Bug::RepeatsEffects => {
            ports.transactor = Arc::new(writes::Wrong::new(bug, Arc::clone(&ports.transactor)));
        }
        Bug::SkipsEvents | Bug::ShowsPrivateEvents => {
            ports.events = Arc::new(events::FaultyReader::new(bug, Arc::clone(&ports.events)));
        }
        Bug::MistakesEvents => {
            ports.transactor = Arc::new(events::WithoutRecords(Arc::clone(&ports.transactor)));
        }
        Bug::IgnoresBatchedPets | Bug::IgnoresBatchedNames => {
            ports.transactor = Arc::new(batches::Wrong::new(bug, &ports));
        }
        _ => {}
    }
    ports
}

/// The ports of the dispatcher, with the planted bug if that is a bug of deliveries.
pub(crate) fn dispatcher_ports(bug: Option<Bug>, mut ports: DispatcherPorts) -> DispatcherPorts {
    match bug {
        Some(Bug::SkipsDeliveries) => {
            ports.events = Arc::new(events::FaultyReader::new(Bug::SkipsEvents, ports.events));
        }
        Some(bug @ (Bug::DeliversToDisabled | Bug::SignsWithOldSecrets)) => {
            ports.webhooks = Arc::new(webhooks::FaultyReader { bug, inner: ports.webhooks });
        }
        Some(Bug::DeliversWithoutScope) => ports.scopes = Arc::new(webhooks::EveryAccount),
        _ => {}
    }
    ports
}

/// Returns how many times the end of request `number` is reported to the oracle, and how many times the request is
/// subtracted from the requests in flight.
pub(crate) fn leaving(bug: Option<Bug>, number: u64) -> (u32, u32) {
    let is_wrong = number % 20 == 19;
    match bug {
        Some(Bug::LosesPlaces) if is_wrong => (1, 0),
        Some(Bug::SkipsLeave) if is_wrong => (0, 0),
        Some(Bug::LeavesTwice) if is_wrong => (2, 2),
        _ => (1, 1),
    }
}
