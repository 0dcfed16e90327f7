//! How long the threads of a server have nothing to do.
//!
//! Told by the threads themselves: what the machine gives to other processes, or the host to other machines, is no
//! leisure of theirs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Builder;
use tokio::time::Instant;

/// How long the threads of a server have had nothing to do, to be asked by anyone at any time. A clone is the same.
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
    /// How many threads there are.
    pub fn threads(&self) -> usize {
        self.0.threads.lock().len()
    }

    /// The time that they have had nothing to do, together.
    pub fn time(&self) -> Duration {
        let now = self.now();
        let nanos = self.0.threads.lock().iter().map(|thread| thread.nanos(now)).sum();
        Duration::from_nanos(nanos)
    }

    /// One more thread, that of the runtime that will be built: it has nothing to do while it is parked.
    pub(crate) fn watch(&self, builder: &mut Builder) {
        let thread = Arc::<ThreadIdle>::default();
        self.0.threads.lock().push(Arc::clone(&thread));
        let (idle, parked) = (self.clone(), Arc::clone(&thread));
        builder.on_thread_park(move || parked.begin(idle.now()));
        let idle = self.clone();
        builder.on_thread_unpark(move || thread.end(idle.now()));
    }

    /// Nanoseconds since the beginning: enough for five hundred years.
    #[expect(clippy::cast_possible_truncation, reason = "of what comes in those years")]
    fn now(&self) -> u64 {
        self.0.begun.elapsed().as_nanos() as u64
    }
}

/// When one thread had nothing to do. It alone writes.
#[derive(Debug, Default)]
struct ThreadIdle {
    /// Of the rests that are over.
    nanos: AtomicU64,
    /// Since when there is one, and a nanosecond; 0 while there is none.
    since: AtomicU64,
}

impl ThreadIdle {
    fn begin(&self, now: u64) {
        self.since.store(now + 1, Ordering::Relaxed);
    }

    fn end(&self, now: u64) {
        let rested = self.lasts(now);
        self.since.store(0, Ordering::Relaxed);
        self.nanos.store(self.nanos.load(Ordering::Relaxed) + rested, Ordering::Relaxed);
    }

    /// A rest that ends at this moment may be counted or not.
    fn nanos(&self, now: u64) -> u64 {
        self.nanos.load(Ordering::Relaxed) + self.lasts(now)
    }

    fn lasts(&self, now: u64) -> u64 {
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
    fn rests_add_up_and_one_that_lasts_counts_so_far() {
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
        assert_eq!(thread.nanos(100), 13, "a thread that is woken twice has rested once");
    }

    #[test]
    fn a_runtime_rests_while_it_has_nothing_to_do() {
        let idle = IdleTime::default();
        assert_eq!((idle.threads(), idle.time()), (0, Duration::ZERO));
        let mut builder = Builder::new_current_thread();
        idle.watch(&mut builder);
        let runtime = builder.build().unwrap();
        assert_eq!(idle.threads(), 1);
        let (send, receive) = tokio::sync::oneshot::channel();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| runtime.block_on(receive));
            // Until it rests: it would for ever.
            while idle.time() == Duration::ZERO {
                std::thread::yield_now();
            }
            send.send(()).unwrap();
            waiting.join().unwrap().unwrap();
        });
        let rested = idle.time();
        assert!(rested > Duration::ZERO);
        assert_eq!(idle.time(), rested, "nobody rests any more");
    }
}
