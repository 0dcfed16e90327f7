//! The progress of long work, such as an import, a migration or the reading of a large file.

/// A part of long work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkPhase {
    /// The work, as a message begins with it: `reading the data file`.
    pub name: &'static str,
    /// The unit that is counted.
    pub unit: WorkUnit,
    /// The number of units of the whole phase, or an upper bound; none if it is not known.
    pub total: Option<u64>,
}

/// The unit in which the progress of a phase is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkUnit {
    /// Records of a store.
    Rows,
    /// Lines of an import or an export.
    Lines,
    /// Keys of accounts.
    Keys,
    /// Bytes.
    Bytes,
    /// Steps, such as those of a migration. They may differ much in length.
    Steps,
    /// Nothing is counted: only the time passes.
    Time,
}

/// Receives how far long work is. There is one phase at a time.
///
/// [`WorkProgress::reached`] is called for each record, so it must be quick. No method may fail, because a fault of the display must
/// not end the work.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use petstore_ports::{WorkPhase, WorkProgress, WorkUnit};
///
/// /// Keeps the count alone.
/// #[derive(Default)]
/// struct Count(AtomicU64);
///
/// impl WorkProgress for Count {
///     fn begin(&self, _phase: WorkPhase) {
///         self.0.store(0, Ordering::Relaxed);
///     }
///
///     fn reached(&self, done: u64) {
///         self.0.store(done, Ordering::Relaxed);
///     }
///
///     fn end(&self) {}
/// }
///
/// let count = Count::default();
/// count.begin(WorkPhase { name: "counting", unit: WorkUnit::Rows, total: Some(3) });
/// (1..=3).for_each(|row| count.reached(row));
/// assert_eq!(count.0.into_inner(), 3);
/// ```
pub trait WorkProgress: Send + Sync {
    /// Begins a phase. It ends the phase before.
    fn begin(&self, phase: WorkPhase);

    /// Records that this many units of the phase are done.
    fn reached(&self, done: u64);

    /// Ends the phase, without another one.
    fn end(&self);
}

/// The progress of work that is not watched.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl WorkProgress for Unwatched {
    fn begin(&self, _phase: WorkPhase) {}

    fn reached(&self, _done: u64) {}

    fn end(&self) {}
}
