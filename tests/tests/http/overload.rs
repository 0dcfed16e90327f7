//! Overload: most of the capacity is still served, and the other requests are refused at once.
//!
//! The store sleeps for each read, so that the server is the bottleneck and not the machine. A busy machine can still
//! make a round fail, so one successful round of several is enough.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use petstore_domain::{PetId, PetRecord};
use petstore_http::Deadlines;
use petstore_ports::{PageEnd, PageRequest, PetFilter, PetReader, PetSink, Reply, StoreError};
use petstore_service::Ports;

use crate::closed_loop::Loops;
use crate::fixture::{Caller, PLENTY, request};
use crate::harness::{Client, Shop, ShopOptions};
use crate::open_loop::{RequestResult, Stream, count, p99, run};

/// The duration of one read. It is so long that a refusal costs little in comparison.
const READ: Duration = Duration::from_millis(if cfg!(debug_assertions) { 2 } else { 1 });

/// The maximum latency of a refusal, and the minimum part of the capacity that must still be served. In a build without
/// optimisation, a refusal costs nearly as much as a read, and the load generator is late because other tests run
/// beside it. So the limits for such a build detect gross faults only.
const REFUSED_MAX: Duration = Duration::from_millis(if cfg!(debug_assertions) { 8_000 } else { 50 });
const GOODPUT_MIN: f64 = if cfg!(debug_assertions) { 0.4 } else { 0.8 };

const ROUNDS: usize = 4;
const SETTLE: Duration = Duration::from_secs(1);
const JUDGED: Duration = Duration::from_secs(3);

/// A reader that blocks its caller's thread for the duration of a read.
struct SlowReader;

#[async_trait]
impl PetReader for SlowReader {
    fn pet(&self, _id: PetId) -> Reply<Result<Option<PetRecord>, StoreError>> {
        std::thread::sleep(READ);
        Reply::now(Ok(None))
    }

    async fn pets<'a>(
        &self,
        _filter: &PetFilter,
        _page: &PageRequest,
        _sink: PetSink<'a>,
    ) -> Result<PageEnd, StoreError> {
        std::thread::sleep(READ);
        Ok(PageEnd::Last)
    }
}

/// A shop with slow listings, and a server of it with one thread.
fn open() -> (Shop, petstore_http::Server) {
    let mut options = ShopOptions::default();
    options.http.deadlines = Deadlines { turn: Deadlines::DEFAULT.turn, ..options.http.deadlines };
    let shop = Shop::open_over(options, |ports| Ports { pets: Arc::new(SlowReader), ..ports });
    let any_port = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
    let server = shop.http.listen(any_port, NonZeroUsize::MIN).unwrap();
    (shop, server)
}

/// The number of requests a second that the server can serve on this machine: the best of several measurements.
fn capacity(client: &Client) -> f64 {
    (0..5).map(|_| rate_of_the_patient(client)).fold(0.0, f64::max)
}

/// The number of answers a second to a few clients, if each client waits for its answer before it sends the next
/// request.
fn rate_of_the_patient(client: &Client) -> f64 {
    const CLIENTS: u32 = 4;
    const REQUESTS: u32 = 50;
    let begun = tokio::time::Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut caller = Caller::of(client);
                for _ in 0..REQUESTS {
                    assert_eq!(caller.get("/v1/pets").status, 200);
                }
            });
        }
    });
    f64::from(CLIENTS * REQUESTS) / begun.elapsed().as_secs_f64()
}

fn stream(client: &Client, rate: f64) -> Stream {
    Stream { request: request(client, "GET", "/v1/pets", &[], b""), rate }
}

/// Repeats a round until it succeeds. If no round succeeds, fails with the faults of all rounds.
fn one_is_good(mut round: impl FnMut() -> Result<String, String>) {
    let mut faults = vec![];
    for _ in 0..ROUNDS {
        match round() {
            Ok(figures) => return println!("{figures}"),
            Err(fault) => faults.push(fault),
        }
    }
    panic!("{}", faults.join("\n"));
}

fn judge(is_good: bool, figures: String) -> Result<String, String> {
    if is_good { Ok(figures) } else { Err(figures) }
}

/// Returns whether every answer is a page, or an `overloaded` error with a Retry-After.
fn all_are_answered(results: &[RequestResult]) -> bool {
    results.iter().all(|result| match result.status {
        Some(200) => true,
        Some(503) => result.is_overload,
        _ => false,
    })
}

#[test]
fn at_three_times_the_capacity_most_of_it_is_served_and_the_rest_refused_at_once() {
    let (shop, server) = open();
    let client = Client { address: server.local_addr(), ..shop.client(PLENTY) };
    let capacity = capacity(&client);
    one_is_good(|| {
        let results =
            run(client.address, &[stream(&client, 3.0 * capacity)], SETTLE, SETTLE + JUDGED).remove(0);
        let in_time = results.iter().filter(|result| result.status == Some(200) && result.in_time).count();
        let goodput = f64::from(u32::try_from(in_time).unwrap()) / JUDGED.as_secs_f64() / capacity;
        let refused = p99(results.iter().filter(|result| result.status == Some(503)));
        // Requires at least one refusal, because otherwise no latency of refusals was measured.
        let told = all_are_answered(&results) && count(&results, 503) > 0;
        judge(
            goodput >= GOODPUT_MIN && refused <= REFUSED_MAX && told,
            format!(
                "goodput {goodput:.2} of {capacity:.0} a second, refused within {refused:?}, all answered: {told}"
            ),
        )
    });
    assert!(shop.http.overloads() > 0);
    // After the load has ended, the server refuses no request.
    std::thread::sleep(Duration::from_secs(1));
    let mut caller = Caller::of(&client);
    for _ in 0..20 {
        assert_eq!(caller.get("/v1/pets").status, 200);
    }
    server.drain();
    assert!(server.join());
}

#[test]
fn a_greedy_account_does_not_starve_another_one_and_health_is_never_refused() {
    let (shop, server) = open();
    let [greedy, modest] = [(); 2].map(|()| Client { address: server.local_addr(), ..shop.client(PLENTY) });
    let health = Stream { request: request(&shop.anonymous(), "GET", "/health", &[], b""), rate: 20.0 };
    let capacity = capacity(&greedy);
    one_is_good(|| {
        let streams = [stream(&greedy, 3.0 * capacity), stream(&modest, 0.1 * capacity), health.clone()];
        let results = run(greedy.address, &streams, SETTLE, SETTLE + JUDGED);
        let part = |results: &[RequestResult]| {
            f64::from(count(results, 200)) / f64::from(u32::try_from(results.len()).unwrap())
        };
        let (greedy, modest, healthy) = (part(&results[0]), part(&results[1]), part(&results[2]));
        judge(
            greedy <= 0.9 && modest >= 0.95 && healthy >= 1.0,
            format!(
                "served: {greedy:.2} of the greedy one's, {modest:.2} of the modest one's, {healthy:.2} of health"
            ),
        )
    });
    server.drain();
    assert!(server.join());
}

#[test]
fn a_small_closed_loop_is_served_whatever_it_waits_also_after_an_overload() {
    let (shop, server) = open();
    let client = Client { address: server.local_addr(), ..shop.client(PLENTY) };
    // Each of these clients waits for the reads of all others, which takes longer than the limit for waiting under
    // overload.
    let few = 64;
    let loops = Loops {
        address: client.address,
        request: request(&client, "GET", "/v1/pets", &[], b""),
        few: usize::try_from(few).unwrap(),
        crowd: 250,
        crowd_leaves: &|| shop.http.overloads() > 0,
        has_left: &|| shop.http.stats().connections <= few,
        time: Duration::from_secs(2),
    };
    let statuses = loops.run();
    let refused = statuses.iter().filter(|status| **status != 200).count();
    assert!(statuses.len() > 100 && refused == 0, "{refused} of {} were not served", statuses.len());
    server.drain();
    assert!(server.join());
}

#[test]
fn a_refused_request_costs_no_quota() {
    let (shop, server) = open();
    let client = Client { address: server.local_addr(), ..shop.client(PLENTY) };
    let left = || {
        let answer = Client { address: shop.address(), ..client.clone() }.get("/v1/rate-limit").json();
        answer["minute"]["remaining"].as_u64().unwrap()
    };
    let capacity = capacity(&client);
    let before = left();
    let results = run(client.address, &[stream(&client, 3.0 * capacity)], Duration::ZERO, JUDGED).remove(0);
    assert!(count(&results, 503) > 0, "nothing was refused");
    assert_eq!(before - left(), u64::from(count(&results, 200)));
    server.drain();
    assert!(server.join());
}
