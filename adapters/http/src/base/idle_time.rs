//! The idle time of the threads of a server.
//!
//! A thread counts as idle only while it is parked. Time in which the machine runs other processes, or a hypervisor
//! runs other machines, does not count as idle.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Builder;
use tokio::time::Instant;

/// The total time for which the threads of a server have been idle. Clones share the state.
#[derive(Debug, Clone)]
pub struct IdleTime(Arc<Threads>);

#[derive(Debug)]
struct Threads {
    begun: Instant,
    threads: Mutex<Vec<Arc<ThreadIdle>>>,
}

impl Default for IdleTime {
    fn default() -> Self {
        Self(Arc::new(Threads { begun: Instant::now(), threads: Mutex::default() }))
    }
}

impl IdleTime {
    /// The number of threads.
    pub fn threads(&self) -> usize {
        self.0.threads.lock().len()
    }

    /// The idle time of all threads together.
    pub fn time(&self) -> Duration {
        let now = self.now();
        let nanos = self.0.threads.lock().iter().map(|thread| thread.nanos(now)).sum();
        Duration::from_nanos(nanos)
    }

    /// Adds the thread of a runtime that is about to be built. The thread is idle while it is parked.
    pub(crate) fn watch(&self, builder: &mut Builder) {
        let thread = Arc::<ThreadIdle>::default();
        self.0.threads.lock().push(Arc::clone(&thread));
        let (idle, parked) = (self.clone(), Arc::clone(&thread));
        builder.on_thread_park(move || parked.begin(idle.now()));
        let idle = self.clone();
        builder.on_thread_unpark(move || thread.end(idle.now()));
    }

    /// Nanoseconds since the start. They overflow after five hundred years.
    #[expect(clippy::cast_possible_truncation, reason = "does not overflow within five hundred years")]
    fn now(&self) -> u64 {
        self.0.begun.elapsed().as_nanos() as u64
    }
}

/// The idle time of one thread. Only this thread writes it.
#[derive(Debug, Default)]
struct ThreadIdle {
    /// The total of the idle periods that have ended.
    nanos: AtomicU64,
    /// The start of the current idle period plus one nanosecond; 0 while the thread is busy.
    since: AtomicU64,
}

impl ThreadIdle {
    fn begin(&self, now: u64) {
        self.since.store(now + 1, Ordering::Relaxed);
    }

    fn end(&self, now: u64) {
        let idled = self.current(now);
        self.since.store(0, Ordering::Relaxed);
        self.nanos.store(self.nanos.load(Ordering::Relaxed) + idled, Ordering::Relaxed);
    }

    /// The total idle time. A period that ends during the call may be missing.
    fn nanos(&self, now: u64) -> u64 {
        self.nanos.load(Ordering::Relaxed) + self.current(now)
    }

    fn current(&self, now: u64) -> u64 {
        match self.since.load(Ordering::Relaxed) {
            0 => 0,
            since => (now + 1).saturating_sub(since),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_periods_add_up_and_the_current_one_counts() {
        let thread = ThreadIdle::default();
        assert_eq!(thread.nanos(5), 0);
        thread.begin(0);
        assert_eq!(thread.nanos(7), 7);
        thread.end(10);
        assert_eq!((thread.nanos(10), thread.nanos(50)), (10, 10));
        thread.begin(50);
        assert_eq!(thread.nanos(51), 11);
        thread.end(53);
        thread.end(60);
        assert_eq!(thread.nanos(100), 13, "a second end of one period adds nothing");
    }

    #[test]
    fn a_runtime_is_idle_while_it_is_parked() {
        let idle = IdleTime::default();
        assert_eq!((idle.threads(), idle.time()), (0, Duration::ZERO));
        let mut builder = Builder::new_current_thread();
        idle.watch(&mut builder);
        let runtime = builder.build().unwrap();
        assert_eq!(idle.threads(), 1);
        let (send, receive) = tokio::sync::oneshot::channel();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| runtime.block_on(receive));
            // The runtime stays parked until the message below.
            while idle.time() == Duration::ZERO {
                std::thread::yield_now();
            }
            send.send(()).unwrap();
            waiting.join().unwrap().unwrap();
        });
        let idled = idle.time();
        assert!(idled > Duration::ZERO);
        assert_eq!(idle.time(), idled, "no thread is idle any more");
    }
}
