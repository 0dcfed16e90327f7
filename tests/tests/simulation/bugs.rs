//! Planted bugs: the simulation must find each of them, or it proves nothing.
//!
//! They sit beneath what watches the ports, as faults of a store, of its journal or of its quotas would; or above it, as
//! faults of whoever calls them. Production code knows nothing of them.

mod batches;
mod journal;
mod quotas;
mod reads;
mod writes;

use std::sync::Arc;

use petstore_ports::{Journal, Quotas};
use petstore_service::Ports;
use petstore_tests::{Disk, DiskBug};

/// A way in which the petstore can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    /// The journal acknowledges what is not synced.
    CommitsWithoutSync,
    /// The journal acknowledges a batch and writes it when it is called the next time.
    AcknowledgesEarly,
    /// The journal writes the record of an answer after its effect.
    SplitsAnswers,
    /// After a crash ids are counted from the highest that is there.
    ReusesIds,
    /// The journal finds after a failure what it knew before it: not a batch that has reached the disk all the same.
    DeniesTheDoubtful,
    /// A failure of the journal is a success to who waits.
    SwallowsFailures,
    /// A restart gives a fresh quota.
    ForgetsUsage,
    /// A restart lifts bans.
    ForgetsBans,
    /// Answers are dropped half a day too early.
    PrunesTheLiving,
    /// A clock that steps back opens its old minute anew.
    WindowFalls,
    /// One request in twenty stays in flight for ever.
    LosesPlaces,
    /// One request in twenty does not say that it is over.
    NeverLeaves,
    /// One request in twenty says twice that it is over.
    LeavesTwice,
    /// A revoked key opens what it opened before.
    KeepsCredentials,
    /// A pet is shown as it was when it was last asked for, every other time.
    ReadsStale,
    /// A page begins one id too late.
    SkipsAtPages,
    /// One decision in ten is made on a pet as an earlier one found it.
    DecidesOnStale,
    /// A cancelled order gives one unit too many back.
    GivesBackTooMuch,
    /// Every eighth retry is done again.
    RepeatsRetries,
    /// A decision on a pet does not see what its batch has decided before.
    OverlooksPets,
    /// A decision on a name does not see who was given it in the same batch.
    OverlooksNames,
}

impl Bug {
    pub(crate) const ALL: [Self; 21] = [
        Self::CommitsWithoutSync,
        Self::AcknowledgesEarly,
        Self::SplitsAnswers,
        Self::ReusesIds,
        Self::DeniesTheDoubtful,
        Self::SwallowsFailures,
        Self::ForgetsUsage,
        Self::ForgetsBans,
        Self::PrunesTheLiving,
        Self::WindowFalls,
        Self::LosesPlaces,
        Self::NeverLeaves,
        Self::LeavesTwice,
        Self::KeepsCredentials,
        Self::ReadsStale,
        Self::SkipsAtPages,
        Self::DecidesOnStale,
        Self::GivesBackTooMuch,
        Self::RepeatsRetries,
        Self::OverlooksPets,
        Self::OverlooksNames,
    ];
}

/// The disk, wrong if that is the bug.
pub(crate) fn disk(bug: Option<Bug>) -> Disk {
    match bug {
        Some(Bug::CommitsWithoutSync) => Disk::with_bug(DiskBug::CommitsWithoutSync),
        Some(Bug::AcknowledgesEarly) => Disk::with_bug(DiskBug::RepliesBeforeCommit),
        Some(Bug::SplitsAnswers) => Disk::with_bug(DiskBug::SplitsAnswers),
        Some(Bug::ReusesIds) => Disk::with_bug(DiskBug::ReusesIds),
        _ => Disk::new(),
    }
}

/// The journal, wrong if that is the bug.
pub(crate) fn journal(bug: Option<Bug>, inner: Box<dyn Journal>) -> Box<dyn Journal> {
    match bug {
        Some(
            bug @ (Bug::DeniesTheDoubtful | Bug::ForgetsUsage | Bug::ForgetsBans | Bug::PrunesTheLiving),
        ) => Box::new(journal::Wrong::new(bug, inner)),
        _ => inner,
    }
}

/// The ports, wrong if that is the bug.
pub(crate) fn ports(bug: Option<Bug>, mut ports: Ports) -> Ports {
    let Some(bug) = bug else { return ports };
    match bug {
        Bug::WindowFalls | Bug::LosesPlaces => {
            ports.quotas = Arc::new(quotas::Wrong::new(bug, Arc::clone(&ports.quotas)));
        }
        Bug::KeepsCredentials => ports.keys = Arc::new(reads::KeptKeys::new(Arc::clone(&ports.keys))),
        Bug::ReadsStale | Bug::SkipsAtPages => {
            ports.pets = Arc::new(reads::WrongPets::new(bug, Arc::clone(&ports.pets)));
        }
        Bug::SwallowsFailures | Bug::DecidesOnStale | Bug::GivesBackTooMuch | Bug::RepeatsRetries => {
            ports.transactor = Arc::new(writes::Wrong::new(bug, Arc::clone(&ports.transactor)));
        }
        Bug::OverlooksPets | Bug::OverlooksNames => {
            ports.transactor = Arc::new(batches::Wrong::new(bug, &ports));
        }
        _ => {}
    }
    ports
}

/// The quotas as the service calls them, wrong if that is the bug.
pub(crate) fn called(bug: Option<Bug>, quotas: Arc<dyn Quotas>) -> Arc<dyn Quotas> {
    match bug {
        Some(bug @ (Bug::NeverLeaves | Bug::LeavesTwice)) => Arc::new(quotas::Wrong::new(bug, quotas)),
        _ => quotas,
    }
}
