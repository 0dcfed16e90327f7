//! Redis fails in each way while two nodes are under load.

mod lost_second;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use petstore_test_servers::{FaultProxy, Mode, Postgres, Redis};

use super::{now, unlimited_key};
use crate::alone;
use crate::common::Client;
use crate::common::nodes::Nodes;

/// The deadline of a request while Redis fails: 100 ms for Redis, and time for the other work of a loaded machine.
const DEADLINE: Duration = Duration::from_millis(600);

/// The time after which requests are counted again when Redis works.
const BACK: Duration = Duration::from_secs(1);

/// The duration from which a refusal counts as a late reply of Redis, and a shorter one as an immediate refusal. A node refuses
/// at once while it considers Redis down, in about a millisecond. A request whose reply is late waits for 90 ms, or a little less
/// if it joins a batch that waits already: the client sends it at most a [`PAUSE`] after the batch, and some time for a busy
/// machine.
const LATE: Duration = Duration::from_millis(45);

/// The number of late replies that each client may meet when Redis works: the machine may not run Redis, the proxy or the node
/// for 90 ms. Such a stall meets one request of a client at most, because a client has one request in flight.
const LATE_MAX: usize = 1;

/// The number of clients of each node, and the pause between two requests of one of them.
const CLIENTS: usize = 4;
const PAUSE: Duration = Duration::from_millis(5);

/// Two nodes with quotas in a separate Redis server, which they reach through a proxy.
struct Shop {
    redis: Redis,
    proxy: FaultProxy,
    nodes: Nodes,
    /// A key without a quota.
    key: String,
}

impl Shop {
    #[track_caller]
    fn start(name: &str, args: &[&str]) -> Option<Self> {
        Postgres::shared()?;
        // A start with many keys takes long, in which Redis answers LOADING.
        let redis = Redis::builder()
            .setting("save", "3600 1")
            .setting("enable-debug-command", "local")
            .setting("key-load-delay", "300")
            .setting("loading-process-events-interval-bytes", "1024")
            .start()?;
        let proxy = FaultProxy::before_redis(redis.port());
        let url = format!("redis://127.0.0.1:{}", proxy.port());
        let nodes = Nodes::start(name, 2, &[&["--redis-url", &url, "--demo", "5"], args].concat())?;
        let key = unlimited_key(&nodes);
        Some(Self { redis, proxy, nodes, key })
    }

    /// Sends requests to both nodes while `outage` runs, which returns the time at which Redis works again. Returns all
    /// answers in the order of their times.
    fn under_load(&self, outage: impl FnOnce(&Self) -> Instant) -> (Vec<Seen>, Instant) {
        let (is_over, seen) = (AtomicBool::new(false), Mutex::new(vec![]));
        let works = thread::scope(|scope| {
            for number in 0..2 * CLIENTS {
                let port = self.nodes.sites[number % 2].port;
                let (is_over, seen) = (&is_over, &seen);
                scope.spawn(move || {
                    let mut client = Client::connect(port, &self.key).unwrap();
                    let mut own = vec![];
                    while !is_over.load(Ordering::SeqCst) {
                        let sent = now();
                        let answer = client.ask("GET", "/v1/pets?limit=1", "", "");
                        let answer = answer.expect("every request ends by an answer");
                        let (status, retry_after) = (answer.status, answer.retry_after);
                        own.push(Seen { client: number, sent, took: sent.elapsed(), status, retry_after });
                        thread::sleep(PAUSE);
                    }
                    seen.lock().unwrap().extend(own);
                });
            }
            thread::sleep(Duration::from_millis(300));
            let works = outage(self);
            while works.elapsed() < BACK + Duration::from_millis(500) {
                thread::sleep(PAUSE);
            }
            is_over.store(true, Ordering::SeqCst);
            works
        });
        let mut seen = seen.into_inner().unwrap();
        seen.sort_by_key(|seen| seen.sent);
        (seen, works)
    }
}

/// An answer.
#[derive(Debug, Clone, Copy)]
struct Seen {
    /// The number of the client.
    client: usize,
    sent: Instant,
    took: Duration,
    status: u16,
    retry_after: Option<u64>,
}

/// Checks that no answer exceeded the deadline, that only 200 and 503 occurred, and that 503 ended within a second of Redis's
/// return, except for a few late replies. Returns the number of 503.
fn check(name: &str, seen: &[Seen], works: Instant) -> usize {
    let late = seen.iter().filter(|one| one.took > DEADLINE).count();
    assert_eq!(
        late,
        0,
        "{name}: late answers of {}: {:?}",
        seen.len(),
        seen.iter().map(|one| one.took).max()
    );
    let refused: Vec<_> = seen.iter().filter(|one| one.status != 200).copied().collect();
    for one in &refused {
        assert!(one.status == 503 && one.retry_after.is_some(), "{name}: {one:?}");
    }
    if let Err(told) = check_return(&refused, works) {
        panic!("{name}: {told}");
    }
    let admitted = seen.iter().filter(|one| one.status == 200 && one.sent > works).count();
    assert!(admitted > 10, "{name}: {admitted} requests were admitted after the outage");
    refused.len()
}

/// Checks that no request is refused at once from a second after Redis's return, and that each client has at most [`LATE_MAX`]
/// late replies from then on.
fn check_return(refused: &[Seen], works: Instant) -> Result<(), String> {
    let mut late = [0; 2 * CLIENTS];
    for one in refused {
        let after = one.sent.saturating_duration_since(works);
        if after < BACK {
            continue;
        }
        if one.took < LATE {
            return Err(format!("refused at once {after:?} after Redis worked: {one:?}"));
        }
        late[one.client] += 1;
        if late[one.client] > LATE_MAX {
            return Err(format!(
                "more than {LATE_MAX} late reply, the last {after:?} after Redis worked: {one:?}"
            ));
        }
        println!("a late reply {after:?} after Redis worked: {one:?}");
    }
    Ok(())
}

/// A named outage, from its beginning to its end.
type Outage = (&'static str, fn(&Shop));

/// The length of an outage.
const OUTAGE: Duration = Duration::from_millis(800);

/// The number of keys whose loading takes longer than [`OUTAGE`].
const KEYS_TO_LOAD: &str = "4000";

/// The outages of one server.
const OUTAGES: [Outage; 6] = [
    ("killed", |shop| {
        shop.redis.kill();
        thread::sleep(OUTAGE);
        shop.redis.start_again();
    }),
    ("frozen", |shop| {
        shop.redis.freeze();
        thread::sleep(OUTAGE);
        shop.redis.thaw();
    }),
    ("full", |shop| {
        shop.redis.set("maxmemory", "1");
        thread::sleep(OUTAGE);
        shop.redis.set("maxmemory", "0");
    }),
    ("silent network", |shop| {
        shop.proxy.set_mode(Mode::Blackhole);
        thread::sleep(OUTAGE);
        shop.proxy.set_mode(Mode::Pass);
    }),
    ("changed password", |shop| {
        shop.redis.set("requirepass", "another");
        shop.redis.command(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
        thread::sleep(OUTAGE);
        shop.redis.set("requirepass", "");
    }),
    ("loading", |shop| {
        shop.redis.command(&["DEBUG", "POPULATE", KEYS_TO_LOAD]);
        shop.redis.command(&["SAVE"]);
        shop.redis.kill();
        shop.redis.launch_again();
        while shop.redis.is_loading() {
            thread::sleep(PAUSE);
        }
    }),
];

/// The number of times that the connections are cut, and the variable for another number.
const CUTS: usize = 3;
const CUTS_VARIABLE: &str = "PETSTORE_REDIS_CUTS";

#[test]
fn a_late_reply_of_each_client_is_tolerated_and_an_immediate_refusal_is_not() {
    let works = now();
    let refused = |client, after, took| {
        let [after, took] = [after, took].map(Duration::from_millis);
        Seen { client, sent: works + after, took, status: 503, retry_after: Some(1) }
    };
    let stall: Vec<_> = (0..2 * CLIENTS).map(|client| refused(client, 1_090, 85)).collect();
    for (name, seen, is_tolerated) in [
        ("within a second", vec![refused(0, 10, 1), refused(0, 999, 90)], true),
        ("a stall that meets every client", stall, true),
        ("two late replies of a client", vec![refused(3, 1_000, 90), refused(3, 1_400, 90)], false),
        ("an immediate refusal", vec![refused(0, 1_000, 1)], false),
    ] {
        assert_eq!(check_return(&seen, works).is_ok(), is_tolerated, "{name}");
    }
}

#[test]
fn each_outage_of_redis_ends_by_itself_and_every_request_by_an_answer() {
    let _alone = alone();
    let Some(shop) = Shop::start("redis-outages", &[]) else { return };
    for (name, outage) in OUTAGES {
        let (seen, works) = shop.under_load(|shop| {
            outage(shop);
            now()
        });
        assert!(check(name, &seen, works) > 0, "{name}: no request noticed");
    }
    // A flush of scripts is no outage: none is refused at once, from the beginning.
    let (seen, works) = shop.under_load(|shop| {
        shop.redis.command(&["SCRIPT", "FLUSH"]);
        now()
    });
    check("flushed", &seen, works.checked_sub(BACK).unwrap());
    // Of a lost connection at most the requests in flight are refused.
    let cuts = std::env::var(CUTS_VARIABLE).map_or(CUTS, |cuts| cuts.parse().expect("a number"));
    for cut in 1..=cuts {
        let (seen, works) = shop.under_load(|shop| {
            shop.redis.command(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
            now()
        });
        let refused = check("cut off", &seen, works);
        println!("cut {cut}: {refused} of {} requests were refused", seen.len());
        assert!(refused <= 2 * CLIENTS, "cut {cut}: {refused} requests were refused");
    }
}

#[test]
fn a_failover_of_redis_ends_when_the_name_leads_to_the_new_primary() {
    let _alone = alone();
    let Some(shop) = Shop::start("redis-failover", &[]) else { return };
    let Some(replica) = Redis::start() else { return };
    replica.follow(&shop.redis);
    let (seen, works) = shop.under_load(|shop| {
        // The old primary comes back as a replica first, so that the nodes meet READONLY.
        replica.promote();
        shop.redis.command(&["REPLICAOF", "127.0.0.1", &replica.port().to_string()]);
        thread::sleep(OUTAGE);
        shop.proxy.set_server(replica.port());
        shop.proxy.cut_all();
        now()
    });
    assert!(check("failover", &seen, works) > 0, "no request noticed");
}

#[test]
fn with_the_local_fallback_no_request_is_refused_while_redis_is_down() {
    let _alone = alone();
    let Some(shop) = Shop::start("redis-local", &["--quota-fallback", "local"]) else { return };
    let (seen, works) = shop.under_load(|shop| {
        shop.redis.kill();
        thread::sleep(OUTAGE);
        shop.redis.start_again();
        now()
    });
    assert_eq!(check("local", &seen, works), 0);
}
