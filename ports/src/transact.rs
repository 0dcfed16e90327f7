//! Writes: a pure operation, run by the store.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use petstore_domain::{Changes, Footprint, Operation, Timestamp, View};

use crate::StoreError;

/// An operation as a store sees it: without its types, and without its reasons.
pub trait Transition: Send + Sync {
    /// Names every record that [`Transition::decide`] may look at, given what is loaded so far.
    fn footprint(&self, seen: &View) -> Footprint;

    /// What to write. None: write nothing, and do not ask why; what was seen must hold for it all the same.
    fn decide(&self, view: &View) -> Option<Changes>;
}

/// Runs transitions, each atomically.
///
/// An implementation must keep these, and `petstore-tests` proves them:
/// - Serializable with respect to footprints: whatever `decide` saw still held when its changes were made. Also when it says
///   None, it held at one moment: a view that is loaded piece by piece may show what never was.
/// - A read outside the footprint sees nothing. None leaves no trace.
/// - What it changes is seen together: whoever has met one record of it finds the others when they read on. A credential
///   may be a little behind ([`KeyReader`](crate::KeyReader)).
/// - The reply comes after the commit; the last decision made before it is the one in force.
/// - A panic in `decide` fails that transition alone, as [`StoreErrorKind::Corrupt`](crate::StoreErrorKind::Corrupt).
/// - A caller that goes away leaves the transition whole or absent.
/// - Ids come with the view. None is written twice, by whichever handle of the store; a create that was sent after
///   another one was answered gets the higher id, also on another handle. Gaps are allowed, and an id with which nothing
///   was written may come again.
/// - Several handles of one store, in one process or in several, are one store: what was answered on one is read and
///   decided upon on every other.
/// - What was written is what readers and later operations see: a text character by character, a time to the
///   millisecond, a number in full. The domain's types say how long and how large they may be.
#[cfg_attr(feature = "mock", mockall::automock)]
#[async_trait]
pub trait Transactor: Send + Sync {
    /// Loads what the transition names, asks it, and writes what it says. Ok means that it is written as durably as
    /// this store writes, or that there was nothing to write.
    async fn transact(&self, transition: Arc<dyn Transition>) -> Result<(), StoreError>;
}

/// An operation with its time, and the last decision it made.
struct Running<O: Operation> {
    operation: O,
    at: Timestamp,
    decision: Mutex<Option<Result<O::Output, O::Rejection>>>,
}

impl<O: Operation> Transition for Running<O> {
    fn footprint(&self, seen: &View) -> Footprint {
        self.operation.footprint(seen)
    }

    fn decide(&self, view: &View) -> Option<Changes> {
        let (changes, decision) = match self.operation.decide(view) {
            Ok((changes, output)) => (Some(changes.with_events(view, self.at)), Ok(output)),
            Err(rejection) => (None, Err(rejection)),
        };
        *self.decision.lock().unwrap_or_else(PoisonError::into_inner) = Some(decision);
        changes
    }
}

/// Runs an operation, and keeps its types on the caller's side. The events of its decision get this time, and are part of
/// what the store commits.
pub async fn run<O: Operation>(
    transactor: &dyn Transactor,
    operation: O,
    at: Timestamp,
) -> Result<Result<O::Output, O::Rejection>, StoreError> {
    let running = Arc::new(Running { operation, at, decision: Mutex::new(None) });
    transactor.transact(Arc::clone(&running) as Arc<dyn Transition>).await?;
    let decision = running.decision.lock().unwrap_or_else(PoisonError::into_inner).take();
    decision.ok_or_else(|| StoreError::corrupt("the operation was never asked"))
}
