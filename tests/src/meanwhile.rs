//! Runs one transition while another one decides.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use petstore_domain::{Changes, Footprint, Operation, View};
use tokio::runtime::Handle;

use crate::Subject;
use crate::together::joined;

/// The time for which a decision waits for the other operation to end. In a store that locks the footprint, the other
/// operation waits for this decision, so without a limit neither operation would end. On any other store the other
/// operation ends at once. The result of a case does not depend on this time.
const MOMENT: Duration = Duration::from_millis(100);

/// An operation whose first decision starts the other operation, and waits a moment for its end.
struct Interrupted<O> {
    operation: O,
    other: Arc<Mutex<Option<Other>>>,
}

/// The channels to the other operation: one starts it, the other one reports its end.
struct Other {
    start: SyncSender<()>,
    end: Receiver<()>,
}

impl<O: Clone> Clone for Interrupted<O> {
    fn clone(&self) -> Self {
        Self { operation: self.operation.clone(), other: Arc::clone(&self.other) }
    }
}

impl<O: Operation> Operation for Interrupted<O> {
    type Output = O::Output;
    type Rejection = O::Rejection;

    fn footprint(&self, seen: &View) -> Footprint {
        self.operation.footprint(seen)
    }

    fn decide(&self, view: &View) -> Result<(Changes, O::Output), O::Rejection> {
        let other = self.other.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Other { start, end }) = other {
            let _ = start.send(());
            let _ = end.recv_timeout(MOMENT);
        }
        self.operation.decide(view)
    }
}

impl Subject {
    /// Runs an operation. Its first decision starts the other operation, and waits a moment for the end of that
    /// operation. Returns both answers.
    pub(crate) async fn run_meanwhile<O, T>(
        &self,
        operation: O,
        other: impl Future<Output = T> + Send + 'static,
    ) -> (Result<O::Output, O::Rejection>, T)
    where
        O: Operation + Clone,
        T: Send + 'static,
    {
        let ((start, started), (ending, end)) = (sync_channel(1), sync_channel(1));
        // The other operation needs a separate thread, because the decision blocks the thread on which it runs.
        let runtime = Handle::current();
        let other = tokio::task::spawn_blocking(move || {
            let _ = started.recv();
            let answer = runtime.block_on(other);
            let _ = ending.send(());
            answer
        });
        let interrupted = Interrupted { operation, other: Arc::new(Mutex::new(Some(Other { start, end }))) };
        let answer = self.run(interrupted).await;
        (answer, joined(other).await)
    }
}
