//! A case on a runtime and under a deadline.

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

/// The time limit of a case. A case takes seconds at most, so a case that runs longer waits for something that never
/// happens.
const DEADLINE: Duration = Duration::from_mins(2);

/// Threads of a case: more than the processors of the test machines, so that tasks interleave everywhere.
const THREADS: usize = 8;

/// Runs a case on its own runtime, under a deadline.
pub fn run_case(case: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .enable_all()
        .build()
        .expect("a runtime can be made");
    let outcome = runtime.block_on(async { tokio::time::timeout(DEADLINE, case).await });
    // A store that has lost a wake-up may block a thread forever. The test must end nevertheless, so it does not wait
    // for the threads.
    runtime.shutdown_background();
    assert!(
        outcome.is_ok(),
        "every call of a store must return: the case was still running after {DEADLINE:?}"
    );
}

/// Runs a case as [`run_case`] does, but on a separate thread. A store that locks twice blocks its caller's thread
/// forever, and a deadline cannot end a thread that is blocked.
pub fn run_case_apart<F: Future<Output = ()>>(make: impl FnOnce() -> F + Send + 'static) {
    /// The time after the deadline within which a case must be dropped.
    const GRACE: Duration = Duration::from_secs(5);
    // Nothing is sent over the channel. It closes when the thread ends.
    let (running, ended) = sync_channel::<()>(0);
    // The thread gets the name of the calling thread, which is the name of the test. The report of a skipped test shows
    // it.
    let named = thread::Builder::new().name(thread::current().name().unwrap_or("a case").to_owned());
    let case = named.spawn(move || {
        let _running = running;
        run_case(make());
    });
    let case = case.expect("a thread can be started");
    let is_stuck = ended.recv_timeout(DEADLINE + GRACE) == Err(RecvTimeoutError::Timeout);
    assert!(!is_stuck, "every call of a store must return: one still blocks its thread after {DEADLINE:?}");
    if let Err(panic) = case.join() {
        resume_unwind(panic);
    }
}
