//! The counters of the transport.
//!
//! Each thread has its own counters and is their only writer. So counting is a load and a store, without a lock and
//! without contention for a cache line. A reader adds up the counters of all threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyper::{Method, StatusCode};
use parking_lot::Mutex;
use petstore_domain::Plan;

use crate::base::stats::{Decisions, Latencies, Requests, TransportStats};
use crate::counts::route_label::{ROUTES, RouteLabel, UNKNOWN};

const METHODS: [&str; 8] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", UNKNOWN];

/// The statuses of answers. A status that is not listed would be counted as the last entry.
const STATUSES: [u16; 26] = [
    200, 201, 202, 204, 302, 304, 400, 401, 403, 404, 405, 406, 408, 409, 410, 412, 413, 414, 415, 422, 428,
    429, 431, 500, 503, 0,
];

/// The index in [`STATUSES`] of each status.
const STATUS_INDEX: [u8; 600] = {
    let mut index = [25; 600];
    let mut at: u8 = 0;
    while at < 25 {
        index[STATUSES[at as usize] as usize] = at;
        at += 1;
    }
    index
};

/// Upper bounds of the latency histogram, in microseconds.
const LATENCY_BOUNDS: [u64; 14] =
    [50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 2_500_000];

/// A decision of the gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    Admitted,
    MinuteExceeded,
    DayExceeded,
    TooManyInFlight,
    Banned,
}

const DECISIONS: [&str; 5] = ["admitted", "minute_exceeded", "day_exceeded", "too_many_in_flight", "banned"];

const PLANS: [&str; 4] = ["free", "pro", "business", "enterprise"];

/// A number that one thread writes and any thread may read.
#[derive(Default)]
struct Counter(AtomicU64);

impl Counter {
    fn add(&self, more: u64) {
        // A load and a store suffice instead of a more expensive read-modify-write, because there is only one writer.
        // The order is Release, so that a reader that sees this value also sees the earlier counts.
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(more), Ordering::Release);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

#[derive(Default)]
struct Latency {
    buckets: [Counter; LATENCY_BOUNDS.len() + 1],
    sum_micros: Counter,
}

/// The counters of one thread.
pub(crate) struct ThreadCounters {
    /// The requests by route, method and status.
    requests: Box<[Counter]>,
    /// The latencies by route.
    latencies: [Latency; ROUTES.len()],
    /// The decisions by plan and decision.
    decisions: [[Counter; DECISIONS.len()]; PLANS.len()],
    begun: Counter,
    ended: Counter,
    accepted: Counter,
    closed: Counter,
}

impl Default for ThreadCounters {
    fn default() -> Self {
        let cells = ROUTES.len() * METHODS.len() * STATUSES.len();
        Self {
            requests: std::iter::repeat_with(Counter::default).take(cells).collect(),
            latencies: std::array::from_fn(|_| Latency::default()),
            decisions: Default::default(),
            begun: Counter::default(),
            ended: Counter::default(),
            accepted: Counter::default(),
            closed: Counter::default(),
        }
    }
}

impl ThreadCounters {
    /// Counts a request as in flight until the guard is dropped.
    pub(crate) fn request(&self) -> CountedRequest<'_> {
        self.begun.add(1);
        CountedRequest(self)
    }

    /// Counts an answer and its latency.
    #[expect(clippy::inline_always, reason = "the compiler does not follow a mere hint here")]
    #[inline(always)]
    pub(crate) fn answered(&self, route: RouteLabel, method: &Method, status: StatusCode, after: Duration) {
        self.count(route, method_index(method), status, after);
    }

    /// Counts an answer to a request whose head did not arrive, so that its route and method are unknown.
    pub(crate) fn answered_unread(&self, status: StatusCode) {
        self.count(RouteLabel::NONE, METHODS.len() - 1, status, Duration::ZERO);
    }

    fn count(&self, route: RouteLabel, method: usize, status: StatusCode, after: Duration) {
        let status =
            STATUS_INDEX.get(usize::from(status.as_u16())).map_or(STATUSES.len() - 1, |at| usize::from(*at));
        let route = route.index();
        let cell = (route * METHODS.len() + method) * STATUSES.len() + status;
        self.requests[cell].add(1);
        let micros = u64::try_from(after.as_micros()).unwrap_or(u64::MAX);
        let bucket = LATENCY_BOUNDS.iter().take_while(|bound| micros > **bound).count();
        let latency = &self.latencies[route];
        latency.buckets[bucket].add(1);
        latency.sum_micros.add(micros);
    }

    /// Counts a decision of the gate about a request of an account.
    pub(crate) fn decided(&self, plan: &Plan, decision: Decision) {
        let plan = match plan {
            Plan::Free => 0,
            Plan::Pro => 1,
            Plan::Business => 2,
            Plan::Enterprise(_) => 3,
        };
        self.decisions[plan][decision as usize].add(1);
    }

    /// Counts an accepted connection.
    pub(crate) fn connected(&self) {
        self.accepted.add(1);
    }

    /// Counts a closed connection.
    pub(crate) fn disconnected(&self) {
        self.closed.add(1);
    }
}

/// Counts a request as in flight, until it is dropped.
pub(crate) struct CountedRequest<'t>(&'t ThreadCounters);

impl Drop for CountedRequest<'_> {
    fn drop(&mut self) {
        self.0.ended.add(1);
    }
}

/// The name of a method, or `-` for an unknown method. A client can send any word as a method, even a secret, so an
/// unknown one is not shown.
pub(crate) fn method_name(method: &Method) -> &'static str {
    METHODS[method_index(method)]
}

fn method_index(method: &Method) -> usize {
    match *method {
        Method::GET => 0,
        Method::HEAD => 1,
        Method::POST => 2,
        Method::PUT => 3,
        Method::PATCH => 4,
        Method::DELETE => 5,
        Method::OPTIONS => 6,
        _ => 7,
    }
}

/// The counters of all threads.
#[derive(Default)]
pub(crate) struct ServerCounters(Mutex<Vec<Arc<ThreadCounters>>>);

impl ServerCounters {
    /// Adds the counters of one more thread.
    pub(crate) fn add_thread(&self) -> Arc<ThreadCounters> {
        let counters = Arc::new(ThreadCounters::default());
        self.0.lock().push(Arc::clone(&counters));
        counters
    }

    /// The sums over all threads. Fields that are not counted by thread are 0.
    pub(crate) fn stats(&self) -> TransportStats {
        let threads = self.0.lock();
        let sum = |pick: &dyn Fn(&ThreadCounters) -> u64| {
            threads.iter().map(|counters| pick(counters)).sum::<u64>()
        };
        let (accepted, connections) = begun_and_left(
            || sum(&|counters| counters.accepted.get()),
            || sum(&|counters| counters.closed.get()),
        );
        let (_, in_flight) = begun_and_left(
            || sum(&|counters| counters.begun.get()),
            || sum(&|counters| counters.ended.get()),
        );
        let mut totals = TransportStats {
            requests: vec![],
            latencies: vec![],
            decisions: vec![],
            streams: 0,
            in_flight,
            accepted,
            connections,
            panics: 0,
            shed: 0,
            forwarded_ignored: 0,
        };
        for (route, template) in ROUTES.iter().enumerate() {
            for (method, name) in METHODS.iter().enumerate() {
                for (status, code) in STATUSES.iter().enumerate() {
                    let cell = (route * METHODS.len() + method) * STATUSES.len() + status;
                    let count = sum(&|counters| counters.requests[cell].get());
                    if count > 0 {
                        let (route, method, status) = (*template, *name, *code);
                        totals.requests.push(Requests { route, method, status, count });
                    }
                }
            }
            let count_of = |bucket: usize| sum(&|counters| counters.latencies[route].buckets[bucket].get());
            let buckets: Vec<_> = (0..=LATENCY_BOUNDS.len()).map(count_of).collect();
            if buckets.iter().any(|count| *count > 0) {
                let bounds = LATENCY_BOUNDS.iter().copied().map(Duration::from_micros);
                let bounds = bounds.chain([Duration::MAX]);
                let sum_micros = sum(&|counters| counters.latencies[route].sum_micros.get());
                totals.latencies.push(Latencies {
                    route: template,
                    sum: Duration::from_micros(sum_micros),
                    buckets: bounds.zip(buckets).collect(),
                });
            }
        }
        for (plan, name) in PLANS.iter().enumerate() {
            for (decision, word) in DECISIONS.iter().enumerate() {
                let count = sum(&|counters| counters.decisions[plan][decision].get());
                totals.decisions.push(Decisions { plan: name, decision: word, count });
            }
        }
        totals
    }
}

/// Returns the number of items that have begun, and the number of items in progress. The ended items are read first. So
/// an item that begins and ends between the two reads counts as in progress although it has ended. In the other order,
/// it would be subtracted without having been added, and would hide an item that is still in progress.
fn begun_and_left(begun: impl FnOnce() -> u64, ended: impl FnOnce() -> u64) -> (u64, u64) {
    let ended = ended();
    let begun = begun();
    (begun, begun.saturating_sub(ended))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::route::Resource;

    #[test]
    fn counts_of_two_threads_are_added_up() {
        let threads = ServerCounters::default();
        let (one, two) = (threads.add_thread(), threads.add_thread());
        let pet = RouteLabel::of(&Resource::find("/pets/1").unwrap());
        one.answered(pet, &Method::GET, StatusCode::OK, Duration::from_micros(50));
        two.answered(pet, &Method::GET, StatusCode::OK, Duration::from_micros(51));
        two.answered(pet, &Method::GET, StatusCode::IM_A_TEAPOT, Duration::from_mins(1));
        let running = one.request();
        drop(two.request());
        one.connected();
        two.connected();
        two.disconnected();
        one.decided(&Plan::Pro, Decision::Banned);
        let stats = threads.stats();
        drop(running);
        let counts: Vec<_> =
            stats.requests.iter().map(|one| (one.route, one.method, one.status, one.count)).collect();
        assert_eq!(counts, [("/pets/{petId}", "GET", 200, 2), ("/pets/{petId}", "GET", 0, 1)]);
        let buckets: Vec<_> = stats.latencies[0].buckets.iter().map(|(_, count)| *count).collect();
        assert_eq!(buckets, [1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(stats.latencies[0].sum, Duration::from_micros(60_000_101));
        assert_eq!((stats.in_flight, stats.accepted, stats.connections), (1, 2, 1));
        let banned: Vec<_> = stats.decisions.iter().filter(|one| one.count > 0).collect();
        assert_eq!(banned, [&Decisions { plan: "pro", decision: "banned", count: 1 }]);
    }

    #[test]
    fn an_item_that_ends_between_two_reads_hides_no_other() {
        let counters = ThreadCounters::default();
        counters.connected();
        let read = |counter: &Counter| {
            let count = counter.get();
            counters.connected();
            counters.disconnected();
            count
        };
        let (accepted, connections) = begun_and_left(|| read(&counters.accepted), || read(&counters.closed));
        assert!((1..=accepted).contains(&connections), "{connections} of {accepted}");
    }
}
