//! An adjustable clock.

use std::sync::Arc;

use parking_lot::RwLock;
use petstore_domain::Timestamp;
use petstore_ports::Clock;
use petstore_ports::api::{ClockChange, ClockState, NewTime};

/// A clock that follows the machine's clock until it is set. After that it runs on from the new time, or stays at this
/// time if it is frozen.
pub struct SandboxClock {
    machine: Arc<dyn Clock>,
    pace: RwLock<Pace>,
}

/// The relation of the clock to the machine's clock.
#[derive(Debug, Clone, Copy)]
pub enum Pace {
    /// This many milliseconds ahead of the machine's clock.
    Ahead(i64),
    /// Frozen at this time.
    Frozen(Timestamp),
}

impl Pace {
    fn at(self, machine: Timestamp) -> Timestamp {
        match self {
            Self::Frozen(time) => time,
            Self::Ahead(millis) => {
                let millis = machine.as_millis().saturating_add(millis);
                let millis = millis.clamp(Timestamp::MIN.as_millis(), Timestamp::MAX.as_millis());
                Timestamp::from_millis(millis).unwrap_or(machine)
            }
        }
    }
}

impl SandboxClock {
    /// Returns a clock that shows the machine's time.
    pub fn new(machine: Arc<dyn Clock>) -> Self {
        Self { machine, pace: RwLock::new(Pace::Ahead(0)) }
    }

    /// The current time, and whether the clock is frozen.
    pub fn state(&self) -> ClockState {
        let pace = *self.pace.read();
        ClockState { now: pace.at(self.machine.now()), frozen: matches!(pace, Pace::Frozen(_)) }
    }

    /// The time of the machine's clock.
    pub fn machine_time(&self) -> Timestamp {
        self.machine.now()
    }

    /// Sets the clock. Returns the new state of the clock. Also returns its former pace if the clock went backwards.
    pub fn change(&self, change: ClockChange) -> (ClockState, Option<Pace>) {
        let mut pace = self.pace.write();
        let went = *pace;
        let machine = self.machine.now();
        let before = pace.at(machine);
        let now = match change.time {
            None => before,
            Some(NewTime::Set(time)) => time,
            Some(NewTime::Advance(by)) => before.plus(by),
            Some(NewTime::Machine) => machine,
        };
        let frozen = change.freeze.unwrap_or(matches!(*pace, Pace::Frozen(_)));
        *pace = if frozen { Pace::Frozen(now) } else { Pace::Ahead(now.as_millis() - machine.as_millis()) };
        (ClockState { now, frozen }, (now < before).then_some(went))
    }

    /// Restores the pace that the clock had before it was set.
    pub fn restore(&self, went: Pace) {
        *self.pace.write() = went;
    }
}

impl Clock for SandboxClock {
    fn now(&self) -> Timestamp {
        self.state().now
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};
    use std::time::Duration;

    use super::*;

    struct Machine(AtomicI64);

    impl Clock for Machine {
        fn now(&self) -> Timestamp {
            Timestamp::from_millis(self.0.load(Ordering::SeqCst)).unwrap()
        }
    }

    fn change(time: Option<NewTime>, freeze: Option<bool>) -> ClockChange {
        ClockChange { time, freeze }
    }

    #[test]
    fn a_clock_continues_from_the_time_it_was_set_to_and_can_be_frozen() {
        let machine = Arc::new(Machine(AtomicI64::new(1_000)));
        let clock = SandboxClock::new(Arc::clone(&machine) as Arc<dyn Clock>);
        let shows = |millis| assert_eq!(clock.now().as_millis(), millis);
        shows(1_000);
        let set = Timestamp::from_millis(500).unwrap();
        assert!(clock.change(change(Some(NewTime::Set(set)), None)).1.is_some());
        machine.0.store(1_010, Ordering::SeqCst);
        shows(510);
        assert!(clock.change(change(Some(NewTime::Advance(Duration::from_secs(1))), Some(true))).1.is_none());
        machine.0.store(2_000, Ordering::SeqCst);
        shows(1_510);
        assert!(clock.state().frozen);
        // A frozen clock can be set, and stays frozen.
        assert!(clock.change(change(Some(NewTime::Advance(Duration::from_millis(90))), None)).1.is_none());
        shows(1_600);
        assert!(clock.change(change(None, Some(false))).1.is_none());
        machine.0.store(2_005, Ordering::SeqCst);
        shows(1_605);
        assert!(clock.change(change(Some(NewTime::Machine), None)).1.is_none());
        shows(2_005);
    }

    #[test]
    fn a_clock_stays_within_the_range_of_timestamps() {
        let clock = SandboxClock::new(Arc::new(Machine(AtomicI64::new(0))));
        clock.change(change(Some(NewTime::Advance(Duration::MAX)), None));
        assert_eq!(clock.now(), Timestamp::MAX);
        clock.change(change(Some(NewTime::Set(Timestamp::MIN)), None));
        assert_eq!(clock.now(), Timestamp::MIN);
    }
}
