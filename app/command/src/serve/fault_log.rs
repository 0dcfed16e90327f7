//! Log lines about a fault that comes and goes.

use petstore_ports::StoreError;

/// The number of lines that may follow each other at once.
const BURST: u32 = 6;

/// The number of observations after which one more line may follow.
const OBSERVATIONS: u32 = 20;

/// A change that is logged.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FaultChange {
    /// The fault began, or has another reason.
    Began(StoreError),
    /// The fault is over.
    Ended,
}

/// The state of a fault as it was last logged. A fault that comes and goes all the time is logged from time to time.
pub(super) struct FaultLog {
    told: Option<StoreError>,
    /// The lines that may follow now, and the observations since this number rose.
    lines: u32,
    observations: u32,
}

impl FaultLog {
    pub(super) fn new() -> Self {
        Self { told: None, lines: BURST, observations: 0 }
    }

    /// Notes an observation, and returns the change to be logged.
    pub(super) fn note(&mut self, fault: Option<StoreError>) -> Option<FaultChange> {
        self.observations += 1;
        if self.observations >= OBSERVATIONS {
            self.observations = 0;
            self.lines = (self.lines + 1).min(BURST);
        }
        if fault == self.told || self.lines == 0 {
            return None;
        }
        self.lines -= 1;
        self.told.clone_from(&fault);
        Some(fault.map_or(FaultChange::Ended, FaultChange::Began))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_logged_when_it_begins_changes_and_ends() {
        let mut log = FaultLog::new();
        let [refused, late] = ["refused", "late"].map(StoreError::unavailable);
        assert_eq!(log.note(None), None);
        assert_eq!(log.note(Some(refused.clone())), Some(FaultChange::Began(refused.clone())));
        assert_eq!(log.note(Some(refused)), None);
        assert_eq!(log.note(Some(late.clone())), Some(FaultChange::Began(late)));
        assert_eq!((log.note(None), log.note(None)), (Some(FaultChange::Ended), None));
    }

    #[test]
    fn a_fault_that_comes_and_goes_is_logged_from_time_to_time() {
        let mut log = FaultLog::new();
        let fault = |number: u32| number.is_multiple_of(2).then(|| StoreError::unavailable("refused"));
        let lines = (0..1_000).filter_map(|number| log.note(fault(number))).count();
        assert!((50..60).contains(&lines), "{lines}");
        // The last state is logged in the end.
        (0..OBSERVATIONS * 2).for_each(|_| drop(log.note(None)));
        assert_eq!((log.note(None), log.told.is_none()), (None, true));
    }
}
