//! Planted bugs: the simulation must find each of them, or it proves nothing.
//!
//! They are below the recorders at the ports, where faults of a store, of its journal or of its quotas would be, or
//! around the service, where faults of its count of requests in flight would be. Production code contains none of them.

mod batches;
mod events;
mod journal;
mod quotas;
mod reads;
mod writes;

use std::sync::Arc;

use petstore_ports::Journal;
use petstore_service::Ports;
use petstore_tests::{Disk, DiskBug};

/// A fault of the petstore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    /// The journal acknowledges a batch before it is synced.
    CommitsWithoutSync,
    /// The journal acknowledges a batch and writes it at the next call.
    AcknowledgesEarly,
    /// The journal writes an idempotency record after its effect.
    SplitsRecordFromEffect,
    /// After a crash new ids continue from the highest that exists.
    ReusesIds,
    /// After a failure the journal reports the last batch that it knew of, and ignores a later one that did reach the
    /// disk.
    IgnoresBatchInDoubt,
    /// The store reports success to callers when the journal fails.
    SwallowsFailures,
    /// A restart gives a fresh quota.
    ForgetsUsage,
    /// A restart lifts bans.
    ForgetsBans,
    /// Idempotency records are dropped half a day too early.
    PrunesLiveRecords,
    /// A clock that steps back reopens the earlier minute.
    ReopensOldWindow,
    /// One request in twenty stays in flight for ever.
    LosesPlaces,
    /// One request in twenty does not release its place.
    SkipsLeave,
    /// One request in twenty releases its place twice.
    LeavesTwice,
    /// A revoked key stays valid.
    CachesCredentials,
    /// Every other read of a pet returns the result of the read before it.
    ReadsStale,
    /// A page begins one id too late.
    SkipsAtPages,
    /// One decision in ten uses the pet of an earlier one.
    DecidesOnStale,
    /// A cancelled order returns one unit too many.
    GivesBackTooMuch,
    /// Every eighth retry has its effect again.
    RepeatsEffects,
    /// A decision on a pet ignores the earlier decisions of its batch.
    IgnoresBatchedPets,
    /// A decision on a name ignores the earlier decisions of its batch.
    IgnoresBatchedNames,
    /// After a restart a page of older events begins a batch too late.
    LosesOlderEvents,
    /// Every other page of events leaves out its first one.
    SkipsEvents,
    /// Private events are shown to every account.
    ShowsPrivateEvents,
    /// Each change has the event of a creation.
    MistakesEvents,
}

impl Bug {
    pub(crate) const ALL: [Self; 25] = [
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
    ];
}

/// The disk, with the planted bug if it is one of the disk.
pub(crate) fn disk(bug: Option<Bug>) -> Disk {
    match bug {
        Some(Bug::CommitsWithoutSync) => Disk::with_bug(DiskBug::CommitsWithoutSync),
        Some(Bug::AcknowledgesEarly) => Disk::with_bug(DiskBug::RepliesBeforeCommit),
        Some(Bug::SplitsRecordFromEffect) => Disk::with_bug(DiskBug::SplitsAnswers),
        Some(Bug::ReusesIds) => Disk::with_bug(DiskBug::ReusesIds),
        _ => Disk::new(),
    }
}

/// The journal, with the planted bug if it is one of the journal.
pub(crate) fn journal(bug: Option<Bug>, inner: Box<dyn Journal>) -> Box<dyn Journal> {
    match bug {
        Some(
            bug @ (Bug::IgnoresBatchInDoubt
            | Bug::ForgetsUsage
            | Bug::ForgetsBans
            | Bug::PrunesLiveRecords
            | Bug::LosesOlderEvents),
        ) => Box::new(journal::Wrong::new(bug, inner)),
        _ => inner,
    }
}

/// The ports, with the planted bug if it is one of theirs.
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

/// The times at which the end of request `number` is reported to the oracle, and at which its place in flight is
/// released.
pub(crate) fn leaving(bug: Option<Bug>, number: u64) -> (u32, u32) {
    let is_wrong = number % 20 == 19;
    match bug {
        Some(Bug::LosesPlaces) if is_wrong => (1, 0),
        Some(Bug::SkipsLeave) if is_wrong => (0, 0),
        Some(Bug::LeavesTwice) if is_wrong => (2, 2),
        _ => (1, 1),
    }
}
