//! The progress of a test, which records its phases.

use parking_lot::Mutex;
use petstore_ports::{WorkPhase, WorkProgress};

/// Each phase with its last count.
#[derive(Default)]
pub(crate) struct RecordedPhases(Mutex<Vec<(WorkPhase, u64)>>);

impl RecordedPhases {
    /// Removes the phases so far. Returns them.
    pub(crate) fn take(&self) -> Vec<(WorkPhase, u64)> {
        std::mem::take(&mut *self.0.lock())
    }
}

impl WorkProgress for RecordedPhases {
    fn begin(&self, phase: WorkPhase) {
        self.0.lock().push((phase, 0));
    }

    fn reached(&self, done: u64) {
        self.0.lock().last_mut().expect("a phase has begun").1 = done;
    }

    fn end(&self) {}
}
