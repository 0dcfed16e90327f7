//! Quotas in Redis, compared with one call of a script for each request over the same driver. Run by `bash
//! tests/benches/redis quotas`, which starts the server and keeps this program on another processor.
//!
//! Both ways take turns on one connection each. A benchmark never fails.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use petstore_domain::{AccountId, BanPolicy, KeyId, Limit, Limits, Timestamp};
use petstore_environment::SystemClock;
use petstore_ports::{Ask, Clock, Cost, Quotas, RecordedBan, Verdict};
use petstore_redis::{PrefixOwner, RedisConnections, RedisOptions, RedisQuotas, RedisTarget};
use redis::aio::MultiplexedConnection;
use redis::cmd;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// The rounds of a comparison.
const ROUNDS: usize = 12;

/// The time of each half of a round.
const HALF: Duration = Duration::from_secs(1);

/// The number of concurrent callers. Each of them sends one request at a time.
const CALLERS: u64 = 64;

/// The numbers of accounts that are compared. The gates are about the middle one.
const ACCOUNTS: [u64; 3] = [1, 100, 10_000];

/// Both windows as a service would count them without batches: one call for each request. It checks a ban, and counts
/// neither strikes nor lifts.
const NAIVE: &str = "
    local now, minute, day = tonumber(ARGV[1]), math.floor(ARGV[1] / 60000), math.floor(ARGV[1] / 86400000)
    local read = redis.call('HMGET', KEYS[1], 'minute', 'minute_used', 'day', 'day_used', 'banned')
    if read[5] and tonumber(read[5]) > now then
        return { 2, tonumber(read[5]), 0, 0, 0 }
    end
    local minute_before, minute_used = tonumber(read[1] or 0), tonumber(read[2] or 0)
    local day_before, day_used = tonumber(read[3] or 0), tonumber(read[4] or 0)
    if minute > minute_before then minute_used = 0 else minute = minute_before end
    if day > day_before then day_used = 0 else day = day_before end
    if minute_used >= tonumber(ARGV[2]) or day_used >= tonumber(ARGV[3]) then
        return { 1, minute, minute_used, day, day_used }
    end
    redis.call('HSET', KEYS[1], 'minute', minute, 'minute_used', minute_used + 1, 'day', day, 'day_used', day_used + 1)
    if day > day_before then
        redis.call('EXPIRE', KEYS[1], 172800)
    end
    return { 0, minute, minute_used + 1, day, day_used + 1 }";

fn main() {
    let Ok(url) = std::env::var("PETSTORE_BENCH_URL") else {
        println!("PETSTORE_BENCH_URL is missing: it names a Redis server for this benchmark");
        return;
    };
    let server = std::env::var("PETSTORE_BENCH_PROCESS").expect("the id of the server's process");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let naive = Naive::to(&url).await;
        let packed = connect(&url).await;
        println!("| 64 callers; accounts | {} |", ACCOUNTS.map(|number| number.to_string()).join(" | "));
        println!("|---|{}", "---|".repeat(ACCOUNTS.len()));
        let mut table: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for accounts in ACCOUNTS {
            for (name, figure) in compare(&naive, &packed, accounts, &server).await {
                table.entry(name).or_default().push(figure);
            }
        }
        for (name, figures) in table {
            println!("| {} | {} |", &name[2..], figures.join(" | "));
        }
    });
}

/// One call of a script for each request.
#[derive(Clone)]
struct Naive {
    digest: Arc<str>,
    connection: MultiplexedConnection,
}

impl Naive {
    async fn to(url: &str) -> Self {
        let client = redis::Client::open(url).expect("PETSTORE_BENCH_URL is the URL of a server");
        let connected = client.get_multiplexed_async_connection().await;
        let mut connection = connected.expect("the server accepts connections");
        let loaded = cmd("SCRIPT").arg("LOAD").arg(NAIVE).query_async::<String>(&mut connection).await;
        Self { digest: loaded.expect("the server accepts scripts").into(), connection }
    }

    async fn take(&self, ask: &Ask) -> bool {
        let mut call = cmd("EVALSHA");
        call.arg(&*self.digest)
            .arg(1)
            .arg(format!("naive:{}", ask.account))
            .arg(ask.now.as_millis())
            .arg(ask.limits.minute.get())
            .arg(ask.limits.day.get());
        let answer = call.query_async(&mut self.connection.clone()).await;
        let (refused, ..): (u32, i64, u32, i64, u32) = answer.expect("the server answers");
        refused == 0
    }
}

/// The quotas as a node has them.
async fn connect(url: &str) -> Arc<RedisQuotas> {
    let target = RedisTarget::parse(url).expect("PETSTORE_BENCH_URL is the URL of a server");
    let options = RedisOptions {
        prefix: "bench".to_owned(),
        owner: PrefixOwner::Shop,
        allows_eviction: false,
        seed: 1,
    };
    let connections = RedisConnections::new(target, options, Arc::new(SystemClock));
    connections.start().await.expect("the server is suitable");
    tokio::spawn(Arc::clone(&connections).run());
    Arc::new(RedisQuotas::new(Arc::new(connections), "bench:", tokio::runtime::Handle::current()))
}

/// A request of one of the accounts. The limits are so high that none is refused.
fn ask(account: u64, now: Timestamp) -> Ask {
    let limit = Limit::new(1_000_000_000).expect("a limit");
    Ask {
        key: KeyId::new(account).expect("an id"),
        account: AccountId::new(account).expect("an id"),
        limits: Limits { minute: limit, day: limit },
        cost: Cost::One,
        bans: BanPolicy::DEFAULT,
        recorded_ban: RecordedBan::default(),
        now,
    }
}

/// The costs of one request.
struct Costs {
    /// Requests a second.
    rate: f64,
    /// Processor time of this process, in nanoseconds.
    node: f64,
    /// Processor time of the server, in nanoseconds.
    server: f64,
}

/// Measures callers that take one request after another, of one account after another.
async fn measure<F>(accounts: u64, server: &str, take: impl Fn(Ask) -> F + Clone + Send + 'static) -> Costs
where
    F: Future<Output = bool> + Send,
{
    let (node_before, server_before, begun) = (busy("self"), busy(server), Instant::now());
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let take = take.clone();
        callers.spawn(async move {
            let (mut requests, mut account) = (0_u32, caller * 7_919);
            while begun.elapsed() < HALF {
                account = (account + CALLERS) % accounts;
                // On a busy machine a reply may be late. Such a request is not counted.
                requests += u32::from(take(ask(account + 1, SystemClock.now())).await);
            }
            requests
        });
    }
    let requests: u32 = callers.join_all().await.into_iter().sum();
    let requests = f64::from(requests);
    Costs {
        rate: requests / begun.elapsed().as_secs_f64(),
        node: (busy("self") - node_before) / requests,
        server: (busy(server) - server_before) / requests,
    }
}

/// The processor time of a process since its start, in nanoseconds.
fn busy(process: &str) -> f64 {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).expect("the process runs");
    let times = tasks.filter_map(|task| {
        let told = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        told.split_whitespace().next()?.parse::<f64>().ok()
    });
    times.sum()
}

/// The figures of one number of accounts: the medians of all rounds, by the name of their row.
async fn compare(
    naive: &Naive,
    packed: &Arc<RedisQuotas>,
    accounts: u64,
    server: &str,
) -> Vec<(&'static str, String)> {
    let mut costs: [Vec<Costs>; 2] = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        let of_packed = {
            let quotas = Arc::clone(packed);
            measure(accounts, server, move |ask| {
                let verdict = quotas.take(&ask);
                async move { matches!(verdict.await, Ok(Verdict::Admitted(_))) }
            })
        };
        costs[0].push(of_packed.await);
        let of_naive = {
            let naive = naive.clone();
            measure(accounts, server, move |ask| {
                let naive = naive.clone();
                async move { naive.take(&ask).await }
            })
        };
        costs[1].push(of_naive.await);
    }
    let both = |figure: fn(&Costs) -> f64| {
        let [packed, naive] = [&costs[0], &costs[1]].map(|side| side.iter().map(figure).collect::<Vec<_>>());
        let ratios: Vec<f64> = packed.iter().zip(&naive).map(|(packed, naive)| packed / naive).collect();
        (median(packed), median(naive), spread(ratios))
    };
    let (rate, naive_rate, rates) = both(|costs| costs.rate);
    let (node, naive_node, nodes) = both(|costs| costs.node);
    let (redis, naive_redis, servers) = both(|costs| costs.server);
    vec![
        ("1 requests a second; one call each", format!("{rate:.0}; {naive_rate:.0}")),
        ("2 / one call each (gate 1.6, ambition 1.9)", rates),
        ("3 processor time of the node, ns; one call each", format!("{node:.0}; {naive_node:.0}")),
        ("4 / one call each (gate 0.5, ambition 0.35)", nodes),
        ("5 processor time of Redis, ns; one call each", format!("{redis:.0}; {naive_redis:.0}")),
        ("6 / one call each (gate 0.75, ambition 0.6)", servers),
    ]
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn spread(figures: Vec<f64>) -> String {
    let lowest = figures.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = figures.iter().copied().fold(0.0, f64::max);
    format!("{:.2} ({lowest:.2} to {highest:.2})", median(figures))
}
