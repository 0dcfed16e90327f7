//! More requests than can be served: most of what can be is served all the same, and the others are told at once.
//!
//! The store takes its time, asleep, so that the server is what is short and not the machine. A machine may be busy
//! nonetheless: one round of several has to be good.

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
use crate::harness::{Client, Shop, Wish};
use crate::open_loop::{Fate, Stream, count, p99, run};
use crate::stall::{Caller, PLENTY, request};

/// What one read takes: so long that a refusal costs little beside it.
const READ: Duration = Duration::from_millis(if cfg!(debug_assertions) { 2 } else { 1 });

/// Within what a refusal comes, and the part of the capacity that is served meanwhile. Without optimisation a refusal
/// costs a good part of a read, and beside other tests the generator is late itself: then only a real fault fails.
const REFUSED_MAX: Duration = Duration::from_millis(if cfg!(debug_assertions) { 8_000 } else { 50 });
const GOODPUT_MIN: f64 = if cfg!(debug_assertions) { 0.4 } else { 0.8 };

const ROUNDS: usize = 4;
const SETTLE: Duration = Duration::from_secs(1);
const JUDGED: Duration = Duration::from_secs(3);

/// A reader that keeps its caller's thread for some time.
struct Laborious;

#[async_trait]
impl PetReader for Laborious {
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

/// A shop whose listings are laborious, and a server of it with one thread.
fn open() -> (Shop, petstore_http::Server) {
    let mut wish = Wish::default();
    wish.http.deadlines = Deadlines { turn: Deadlines::DEFAULT.turn, ..wish.http.deadlines };
    let shop = Shop::open_over(wish, |ports| Ports { pets: Arc::new(Laborious), ..ports });
    let any_port = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
    let server = shop.http.listen(any_port, NonZeroUsize::MIN).unwrap();
    (shop, server)
}

/// What the server serves in a second, if it does nothing else, and neither does the machine.
fn capacity(client: &Client) -> f64 {
    (0..5).map(|_| rate_of_the_patient(client)).fold(0.0, f64::max)
}

/// Requests a second of several clients who wait for their answers.
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

/// One round that is good is enough; the last says what was wrong.
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

/// Every answer is a page, or says that there is too much to do and when to come again.
fn all_are_told(fates: &[Fate]) -> bool {
    fates.iter().all(|fate| match fate.status {
        Some(200) => true,
        Some(503) => fate.is_overload,
        _ => false,
    })
}

#[test]
fn at_three_times_the_capacity_most_of_it_is_served_and_the_rest_is_told_at_once() {
    let (shop, server) = open();
    let client = Client { address: server.local_addr(), ..shop.client(PLENTY) };
    let capacity = capacity(&client);
    one_is_good(|| {
        let fates =
            run(client.address, &[stream(&client, 3.0 * capacity)], SETTLE, SETTLE + JUDGED).remove(0);
        let in_time = fates.iter().filter(|fate| fate.status == Some(200) && fate.in_time).count();
        let goodput = f64::from(u32::try_from(in_time).unwrap()) / JUDGED.as_secs_f64() / capacity;
        let refused = p99(fates.iter().filter(|fate| fate.status == Some(503)));
        // Without one there is no figure for how soon it came.
        let told = all_are_told(&fates) && count(&fates, 503) > 0;
        judge(
            goodput >= GOODPUT_MIN && refused <= REFUSED_MAX && told,
            format!(
                "goodput {goodput:.2} of {capacity:.0} a second, refused within {refused:?}, all told: {told}"
            ),
        )
    });
    assert!(shop.http.overloads() > 0);
    // It is over when the load is: the next are served, all of them.
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
    let health = Stream { request: request(&shop.stranger(), "GET", "/health", &[], b""), rate: 20.0 };
    let capacity = capacity(&greedy);
    one_is_good(|| {
        let streams = [stream(&greedy, 3.0 * capacity), stream(&modest, 0.1 * capacity), health.clone()];
        let fates = run(greedy.address, &streams, SETTLE, SETTLE + JUDGED);
        let part =
            |fates: &[Fate]| f64::from(count(fates, 200)) / f64::from(u32::try_from(fates.len()).unwrap());
        let (greedy, modest, healthy) = (part(&fates[0]), part(&fates[1]), part(&fates[2]));
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
    // Each of them waits for the reads of all others, which is much longer than a request may wait for its turn.
    let few = 64;
    let loops = Loops {
        address: client.address,
        request: request(&client, "GET", "/v1/pets", &[], b""),
        few: usize::try_from(few).unwrap(),
        crowd: 250,
        crowd_leaves: &|| shop.http.overloads() > 0,
        has_left: &|| shop.http.figures().connections <= few,
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
    let fates = run(client.address, &[stream(&client, 3.0 * capacity)], Duration::ZERO, JUDGED).remove(0);
    assert!(count(&fates, 503) > 0, "nothing was refused");
    assert_eq!(before - left(), u64::from(count(&fates, 200)));
    server.drain();
    assert!(server.join());
}
