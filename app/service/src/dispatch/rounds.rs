//! The state of the dispatcher's loop besides the machine.

use std::time::Duration;

use petstore_domain::Position;
use petstore_ports::LogEnd;

use super::overview::LookedUp;

/// The state of the loop besides the machine.
#[expect(clippy::struct_excessive_bools, reason = "they are independent of each other")]
pub(super) struct Rounds {
    pub(super) revision: u64,
    /// The round in which the webhooks were read that are in use.
    pub(super) read_in: u64,
    /// The end of the log when the webhooks were asked for that are in use. Later changes of theirs are not known.
    pub(super) confirmed: LogEnd,
    pub(super) is_asking: bool,
    pub(super) is_claiming: bool,
    /// `true` if the last claim failed, so that webhooks may be free that are not held.
    pub(super) has_claim_failed: bool,
    pub(super) is_asking_permits: bool,
    /// `true` if there are webhooks of accounts for which the permits were not asked.
    pub(super) has_new_accounts: bool,
    pub(super) saves: usize,
    pub(super) needs_flush: bool,
    pub(super) is_flushing: bool,
    pub(super) next_round: Duration,
    pub(super) next_renewal: Duration,
    pub(super) next_claim: Duration,
    pub(super) next_permits: Duration,
    pub(super) next_overview: Duration,
    pub(super) oldest: [LookedUp; 2],
}

impl Rounds {
    /// The state before the first round.
    pub(super) const fn new(first_renewal: Duration) -> Self {
        Self {
            revision: 0,
            read_in: 0,
            confirmed: LogEnd { epoch: 0, last: Position::START },
            is_asking: false,
            is_claiming: false,
            has_claim_failed: false,
            is_asking_permits: false,
            has_new_accounts: false,
            saves: 0,
            needs_flush: false,
            is_flushing: false,
            next_round: Duration::ZERO,
            next_renewal: first_renewal,
            next_claim: Duration::ZERO,
            next_permits: Duration::ZERO,
            next_overview: Duration::ZERO,
            oldest: [LookedUp::Nothing; 2],
        }
    }

    /// Returns whether progress is being saved, or waits for that.
    pub(super) const fn is_unsaved(&self) -> bool {
        self.saves > 0 || self.needs_flush || self.is_flushing
    }
}
