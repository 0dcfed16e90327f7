//! What each step of an answer takes, beside the whole of it: `cargo bench -p petstore-tests --bench steps`.
//!
//! The whole is an exchange over a pipe in this process: hyper and all that the petstore does for an answer, without the
//! kernel. What remains of it beside the steps is the transport's. On a file a batch of orders stands beside one order
//! alone. A name after `--` picks steps: `-- order`. Absolute figures are this machine's in this hour.

mod shop;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use criterion::{BatchSize, Criterion};
use petstore_domain::{
    KeyHolder, KeyLabel, Limit, Limits, Name, NewOrder, Operation, OrderId, OrderQuantity, PetId, PetRecord,
    PlaceOrder, Plan, Scopes, Timestamp, View,
};
use petstore_http::{Documents, Http, HttpSettings};
use petstore_memory::{MemoryStore, Opened};
use petstore_ports::api::{Administration, Call, Gate, NewKey, Orders, Pets, Petstore};
use petstore_ports::{Clock, Cost, Entropy, PageOrder, PageRequest, PetFilter, PetReader, StoreError, run};
use petstore_service::{Policy, Ports, Service};
use petstore_sqlite::SqliteJournal;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::Instant;

use crate::shop::{fill, shop, stock_up};

const PETS: u32 = 100_000;

/// Of the shop on a file: each of them is put there by a transaction of its own.
const PETS_ON_FILE: u32 = 2_000;

/// Orders that are committed together.
const BATCHES: [usize; 3] = [1, 16, 64];

/// Requests that are ready before the first is sent.
const REQUESTS: usize = 1_024;

/// Bytes on their way in a pipe: more than any answer here has.
const PIPE: usize = 64 * 1024;

const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn main() {
    let folder = std::env::temp_dir().join(format!("petstore-steps-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let mut criterion = Criterion::default()
        .without_plots()
        .output_directory(&folder)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(30)
        .configure_from_args();
    in_memory(&mut criterion);
    on_file(&mut criterion, &folder);
    let figures = Figures::read(&folder);
    std::fs::remove_dir_all(&folder).expect("the temporary folder is ours");
    figures.print();
}

fn in_memory(criterion: &mut Criterion) {
    let bench = Bench::open();
    let (service, store) = (&*bench.service, &*bench.store);
    let mut ids = Ids::new(PETS);

    let mut get = criterion.benchmark_group("get");
    get.bench_function("gate", |bencher| {
        bencher.iter(|| answered(service.admit(bench.call())).expect("it may go on").usage);
    });
    get.bench_function("pet", |bencher| {
        bencher.iter(|| answered(service.pet(ids.next())).expect("it is there"));
    });
    let gets = bench.requests(|id| ("GET", format!("/pets/{id}"), String::new()));
    get.bench_function("exchange", |bencher| bencher.iter_custom(|times| bench.exchanges(times, &gets)));
    get.finish();

    let mut page = criterion.benchmark_group("page");
    page.bench_function("pets", |bencher| {
        bencher.iter(|| {
            let after = Some(ids.next().get().saturating_sub(101));
            let request = PageRequest { order: PageOrder::Ascending, after, limit: 100 };
            let mut sink = |record: &PetRecord| _ = black_box(record.pet.name.as_str());
            answered(service.list_pets(&PetFilter::default(), &request, &mut sink)).expect("a page")
        });
    });
    let pages = bench.pages();
    page.bench_function("exchange", |bencher| bencher.iter_custom(|times| bench.exchanges(times, &pages)));
    page.finish();

    let mut order = criterion.benchmark_group("order");
    order.bench_function("decide", |bencher| {
        let pet = answered(store.pet(ids.next())).expect("the store answers");
        bencher.iter_batched(
            || view_of(pet.as_ref().expect("it is there")),
            |(operation, view)| operation.decide(&view).is_ok(),
            BatchSize::SmallInput,
        );
    });
    order.bench_function("store", |bencher| {
        bencher.iter(|| {
            answered(run(store, PlaceOrder { new: one_of(ids.next()) })).expect("the store answers").is_ok()
        });
    });
    order.bench_function("service", |bencher| {
        bencher.iter(|| {
            answered(service.place_order(one_of(ids.next()), None)).expect("the store answers").result.is_ok()
        });
    });
    let orders = bench
        .requests(|id| ("POST", "/store/orders".to_owned(), format!("{{\"petId\":{id},\"quantity\":1}}")));
    order.bench_function("exchange", |bencher| bencher.iter_custom(|times| bench.exchanges(times, &orders)));
    order.finish();
}

/// Batches of orders in a file, without the thread that commits them elsewhere: each is on disk when its time ends.
fn on_file(criterion: &mut Criterion, folder: &Path) {
    let path = folder.join("steps.db");
    let open = || Box::new(SqliteJournal::open(&path, 1).expect("a new file"));
    let Opened { store, .. } = MemoryStore::open(open()).expect("an empty journal");
    fill(&store, PETS_ON_FILE);
    stock_up(&store, PETS_ON_FILE);
    drop(store);
    let (Opened { store, .. }, writer) = MemoryStore::open_inline(open()).expect("what was kept");
    let mut ids = Ids::new(PETS_ON_FILE);
    let mut file = criterion.benchmark_group("file");
    for orders in BATCHES {
        file.bench_function(orders.to_string(), |bencher| {
            bencher.iter(|| {
                let placed = |_| Box::pin(run(&store, PlaceOrder { new: one_of(ids.next()) }));
                let mut waiting: Vec<_> = (0..orders).map(placed).collect();
                assert!(
                    waiting.iter_mut().all(|order| poll(order.as_mut()).is_pending()),
                    "nothing is on disk yet"
                );
                writer.step();
                for order in &mut waiting {
                    let Poll::Ready(placed) = poll(order.as_mut()) else { panic!("a batch of {orders}") };
                    assert!(placed.expect("the store answers").is_ok());
                }
            });
        });
    }
    file.finish();
}

/// A petstore with pets and a key.
struct Bench {
    store: Arc<MemoryStore>,
    service: Arc<Service>,
    http: Http,
    key: String,
    now: Timestamp,
}

impl Bench {
    fn open() -> Self {
        let store = shop(PETS);
        stock_up(&store, PETS);
        let ports = Ports::of_one_store(Arc::clone(&store), Arc::new(Noon), Arc::new(Counted::default()));
        let service = Arc::new(Service::new(ports, Policy::DEFAULT));
        let most = Limit::new(Limit::MAX).expect("the most");
        let plan = Plan::Enterprise(Limits { minute: most, day: most });
        let label = KeyLabel::parse("").expect("no label");
        let new = NewKey { holder: KeyHolder::New { plan }, label, scopes: Scopes::ALL, expires_at: None };
        let made = answered(service.create_key(new)).expect("a key");
        let documents = Documents { yaml: "".into(), json: "".into(), page: Arc::new([]) };
        let http =
            Http::new(Arc::clone(&service) as Arc<dyn Petstore>, HttpSettings::new(1, documents), false);
        Self { store, service, http, key: made.secret.reveal().to_owned(), now: Noon.now() }
    }

    fn call(&self) -> Call<'_> {
        Call { key: self.key.as_bytes(), address: CLIENT, cost: Cost::One, now: self.now }
    }

    fn request(&self, method: &str, target: &str, body: &str) -> Vec<u8> {
        let key = &self.key;
        let head =
            format!("{method} /v1{target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n");
        let length = match body.len() {
            0 => String::new(),
            length => format!("Content-Type: application/json\r\nContent-Length: {length}\r\n"),
        };
        format!("{head}{length}\r\n{body}").into_bytes()
    }

    /// Requests for pets at random: of each its method, target and body.
    fn requests(&self, of: impl Fn(PetId) -> (&'static str, String, String)) -> Vec<Vec<u8>> {
        let mut ids = Ids::new(PETS);
        let mut request = || {
            let (method, target, body) = of(ids.next());
            self.request(method, &target, &body)
        };
        (0..REQUESTS).map(|_| request()).collect()
    }

    /// Requests for all pages of pets, by walking through them: cursors are opaque.
    fn pages(&self) -> Vec<Vec<u8>> {
        self.connected(async |client| {
            let mut requests = vec![self.request("GET", "/pets?limit=100", "")];
            let mut answer = Vec::new();
            loop {
                exchange(client, &requests[requests.len() - 1], &mut answer).await;
                let text = String::from_utf8_lossy(&answer);
                let Some((_, cursor)) = text.split_once("cursor=") else { return requests };
                let cursor = cursor.split('>').next().unwrap_or_default();
                requests.push(self.request("GET", &format!("/pets?limit=100&cursor={cursor}"), ""));
            }
        })
    }

    /// How long so many exchanges take on one connection, one after the other.
    fn exchanges(&self, times: u64, requests: &[Vec<u8>]) -> Duration {
        self.connected(async |client| {
            let mut answer = Vec::with_capacity(PIPE);
            let begun = Instant::now();
            for (_, request) in (0..times).zip(requests.iter().cycle()) {
                exchange(client, request, &mut answer).await;
            }
            begun.elapsed()
        })
    }

    /// Does something on a connection of its own.
    fn connected<T>(&self, work: impl AsyncFnOnce(&mut DuplexStream) -> T) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        LocalSet::new().block_on(&runtime, async {
            let server = self.http.serve_here(0);
            let (mut client, end) = tokio::io::duplex(PIPE);
            let serving = spawn_local(server.serve_connection(end, CLIENT));
            let done = work(&mut client).await;
            drop(client);
            serving.await.expect("the connection ends");
            done
        })
    }
}

/// Sends a request, and reads its answer: the end of its JSON is the end.
async fn exchange(client: &mut DuplexStream, request: &[u8], answer: &mut Vec<u8>) {
    answer.clear();
    client.write_all(request).await.expect("the server reads");
    while !matches!(answer.last(), Some(b'}' | b']')) {
        assert!(client.read_buf(answer).await.expect("the server answers") > 0, "it ended");
    }
    assert!(answer.starts_with(b"HTTP/1.1 20"), "{}", String::from_utf8_lossy(answer));
}

fn one_of(pet_id: PetId) -> NewOrder {
    NewOrder { pet_id, quantity: OrderQuantity::ONE, ship_date: None }
}

/// An order for this pet, and what it looks at.
fn view_of(pet: &PetRecord) -> (PlaceOrder, View) {
    let mut view = View::default();
    view.load_pet(pet.pet.id, Some(pet.clone()));
    view.load_next_order(OrderId::FIRST);
    let operation = PlaceOrder { new: one_of(pet.pet.id) };
    debug_assert!(operation.footprint(&view).names().contains(&Name::NextOrder));
    (operation, view)
}

/// Pets drawn at random, the same ones in every run.
struct Ids {
    state: u64,
    pets: u64,
}

impl Ids {
    fn new(pets: u32) -> Self {
        Self { state: 0x9E37_79B9_7F4A_7C15, pets: pets.into() }
    }

    fn next(&mut self) -> PetId {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        PetId::new(self.state % self.pets + 1).expect("an id")
    }
}

/// It is always noon, so that no window ends.
struct Noon;

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        Timestamp::parse("2030-01-01T12:00:00Z").expect("a time")
    }
}

#[derive(Default)]
struct Counted(AtomicU8);

impl Entropy for Counted {
    fn bits(&self) -> Result<[u8; 32], StoreError> {
        Ok([self.0.fetch_add(1, Ordering::Relaxed); 32])
    }
}

/// What a store in memory answers at once.
fn answered<F: Future>(future: F) -> F::Output {
    match poll(pin!(future)) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a store in memory answers at once"),
    }
}

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Medians in nanoseconds, by group and step.
struct Figures(BTreeMap<(&'static str, String), f64>);

impl Figures {
    /// What criterion has left in its folder: nothing of the steps that were not picked.
    fn read(folder: &Path) -> Self {
        let on_file = BATCHES.map(|orders| ("file", orders.to_string()));
        let in_memory = [
            ("get", "gate"),
            ("get", "pet"),
            ("get", "exchange"),
            ("page", "pets"),
            ("page", "exchange"),
            ("order", "decide"),
            ("order", "store"),
            ("order", "service"),
            ("order", "exchange"),
        ];
        let steps = in_memory.map(|(group, step)| (group, step.to_owned())).into_iter().chain(on_file);
        let median = |(group, step): &(&str, String)| {
            let text = std::fs::read(folder.join(group).join(step).join("new/estimates.json")).ok()?;
            let estimates: serde_json::Value = serde_json::from_slice(&text).ok()?;
            estimates["median"]["point_estimate"].as_f64()
        };
        Self(steps.filter_map(|step| Some((step.clone(), median(&step)?))).collect())
    }

    fn print(&self) {
        println!("\n| step | ns | of the whole |\n|---|---|---|");
        for ((group, step), nanos) in &self.0 {
            let (nanos, whole) = if *group == "file" {
                let orders: f64 = step.parse().expect("a number of orders");
                (nanos / orders, self.0.get(&("file", "1".to_owned())))
            } else {
                (*nanos, self.0.get(&(*group, "exchange".to_owned())))
            };
            let share = whole.map_or("—".to_owned(), |whole| format!("{:.2}", nanos / whole));
            println!("| {group}, {step} | {nanos:.0} | {share} |");
        }
    }
}
