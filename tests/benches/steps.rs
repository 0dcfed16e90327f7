//! Times of the steps of an answer, compared with the whole: `cargo bench -p petstore-tests --bench steps`.
//!
//! The whole is an exchange over a pipe in this process: hyper, the petstore's work and the client, without the kernel.
//! The steps of an order are nested: the use case calls the store, which calls the decision. With a file, an order that
//! shares its batch is compared with a single one.
//!
//! The steps are timed one after the other, so their ratio is exact only on an idle machine. A step in a loop is faster
//! than within a request, because the processor prefetches the next record. A name after `--` selects steps: `--
//! order`.

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use criterion::{BatchSize, Criterion};
use petstore_domain::{
    Category, CategoryId, CategoryName, InventoryItem, KeyHolder, KeyLabel, Limit, Limits, NewOrder,
    Operation, OrderId, OrderQuantity, Pet, PetId, PetName, PetRecord, PetStatus, PlaceOrder, Plan, Scopes,
    StockLevel, Timestamp, Version, View,
};
use petstore_http::{Documents, Http, HttpSettings, TokioTimer};
use petstore_memory::{MemoryStore, Opened};
use petstore_ports::api::{Administration, Call, Gate, NewKey, Orders, Pets, Petstore};
use petstore_ports::{
    Clock, Cost, Entropy, PageRequest, PetFilter, PetReader, SortDirection, StoreError, run,
};
use petstore_service::{Policy, Ports, Service};
use petstore_sqlite::SqliteJournal;
use petstore_tests::Random;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::Instant;

const PETS: u32 = 100_000;

/// Number of pets that are drawn at random before the measurement, and then requested in a loop. The number is larger
/// than a processor's nearest cache holds.
const DRAWN: usize = 16_384;

const PAGE: usize = 100;

/// Sizes of the batches that are compared with a single order.
const BATCHES: [usize; 2] = [16, 64];

/// Capacity of a pipe in bytes: more than any answer here has, so that each arrives in one piece.
const PIPE: usize = 64 * 1024;

const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn main() {
    // The folder is in the build folder, because a temporary folder may be in memory.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("steps-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let mut criterion = Criterion::default()
        .without_plots()
        .output_directory(&folder)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(30)
        .configure_from_args();
    get(&mut criterion);
    page(&mut criterion);
    order(&mut criterion);
    file(&mut criterion, &folder.join("steps.db"));
    let figures = figures(&folder);
    fs::remove_dir_all(&folder).expect("the folder is ours");
    print(&figures);
}

/// GET of a pet.
fn get(criterion: &mut Criterion) {
    let bench = Bench::open();
    let mut group = criterion.benchmark_group("get");
    group.bench_function("gate", |bencher| {
        bencher.iter(|| answered(bench.service.admit(bench.call())).expect("it may go on").usage);
    });
    let mut ids = bench.drawn.iter().cycle();
    group.bench_function("pet", |bencher| {
        bencher
            .iter(|| answered(bench.service.pet(*ids.next().expect("a cycle"))).expect("the store answers"));
    });
    let requests = bench.requests(|id| ("GET", format!("/pets/{id}"), String::new()));
    group.bench_function(WHOLE, |bencher| bencher.iter_custom(|times| bench.exchanges(times, &requests)));
    group.finish();
}

/// GET of a page of pets.
fn page(criterion: &mut Criterion) {
    let bench = Bench::open();
    let mut group = criterion.benchmark_group("page");
    let mut ids = bench.drawn.iter().cycle();
    group.bench_function("pets", |bencher| {
        bencher.iter(|| {
            // Start of the page.
            let after = (ids.next().expect("a cycle").get() - 1) / PAGE as u64 * PAGE as u64;
            let request = PageRequest { order: SortDirection::Ascending, after: Some(after), limit: PAGE };
            let mut bytes = 0;
            let mut sink = |record: &PetRecord| bytes += record.pet.name.as_bytes().len();
            answered(bench.service.list_pets(&PetFilter::default(), &request, &mut sink)).expect("a page");
            bytes
        });
    });
    let requests = bench.pages();
    group.bench_function(WHOLE, |bencher| bencher.iter_custom(|times| bench.exchanges(times, &requests)));
    group.finish();
}

/// POST of an order, in memory. Each step has a separate shop without orders.
fn order(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("order");
    let bench = Bench::open();
    let pet = answered(bench.store.pet(bench.drawn[0])).expect("the store answers").expect("it is there");
    group.bench_function("decision", |bencher| {
        let seen = || {
            let mut view = View::default();
            view.load_pet(pet.pet.id, Some(pet.clone()));
            view.load_next_order(OrderId::FIRST);
            view
        };
        let operation = PlaceOrder { new: one_of(pet.pet.id) };
        bencher.iter_batched_ref(seen, |view| operation.decide(view).expect("units"), BatchSize::SmallInput);
    });
    let mut ids = bench.drawn.iter().cycle();
    group.bench_function("store", |bencher| {
        bencher.iter(|| {
            let new = one_of(*ids.next().expect("a cycle"));
            answered(run(&*bench.store, PlaceOrder { new }, Timestamp::EPOCH))
                .expect("the store answers")
                .expect("units")
        });
    });
    let bench = Bench::open();
    let mut ids = bench.drawn.iter().cycle();
    group.bench_function("use_case", |bencher| {
        bencher.iter(|| {
            let new = one_of(*ids.next().expect("a cycle"));
            answered(bench.service.place_order(new, None)).expect("the store answers").result.expect("units")
        });
    });
    let bench = Bench::open();
    let requests = bench
        .requests(|id| ("POST", "/store/orders".to_owned(), format!("{{\"petId\":{id},\"quantity\":1}}")));
    group.bench_function(WHOLE, |bencher| bencher.iter_custom(|times| bench.exchanges(times, &requests)));
    group.finish();
}

/// Durable orders, which the calling thread commits. So each measured time includes the sync to disk.
fn file(criterion: &mut Criterion, path: &Path) {
    let journal = Box::new(SqliteJournal::open(path, 1).expect("a new file"));
    let (Opened { store, .. }, writer) = MemoryStore::open_inline(journal).expect("an empty journal");
    fill(&store);
    let drawn = drawn();
    let mut ids = drawn.iter().cycle();
    let mut batch = |orders: usize| {
        let place = |_| {
            Box::pin(run(&store, PlaceOrder { new: one_of(*ids.next().expect("a cycle")) }, Timestamp::EPOCH))
        };
        let mut waiting: Vec<_> = (0..orders).map(place).collect();
        assert!(waiting.iter_mut().all(|order| poll(order.as_mut()).is_pending()), "nothing is on disk yet");
        writer.step();
        for order in &mut waiting {
            let Poll::Ready(placed) = poll(order.as_mut()) else { panic!("{orders} orders are one batch") };
            placed.expect("the store answers").expect("units");
        }
    };
    let mut group = criterion.benchmark_group("file");
    group.bench_function(WHOLE, |bencher| bencher.iter(|| batch(1)));
    for orders in BATCHES {
        group.bench_function(format!("one_of_{orders}"), |bencher| {
            bencher.iter_custom(|times| {
                let begun = Instant::now();
                (0..times).for_each(|_| batch(orders));
                begun.elapsed() / u32::try_from(orders).expect("a few")
            });
        });
    }
    group.finish();
}

/// A petstore in memory with pets and a key, and the requests to it.
struct Bench {
    store: Arc<MemoryStore>,
    service: Arc<Service>,
    http: Http,
    key: String,
    now: Timestamp,
    drawn: Vec<PetId>,
}

impl Bench {
    fn open() -> Self {
        let store = Arc::new(MemoryStore::new());
        fill(&store);
        let now = Timestamp::parse("2030-01-01T12:00:00Z").expect("a time");
        let ports = Ports::of_one_store(
            Arc::clone(&store),
            Arc::new(Still(now)),
            Arc::new(Counted::default()),
            Arc::new(TokioTimer::new()),
        );
        let service = Arc::new(Service::new(ports, Policy::DEFAULT));
        let most = Limit::new(Limit::MAX).expect("the most");
        let plan = Plan::Enterprise(Limits { minute: most, day: most });
        let label = KeyLabel::parse("").expect("no label");
        let new =
            NewKey { holder: KeyHolder::New { plan }, label, scopes: Scopes::DEFAULT, expires_at: None };
        let key = answered(service.create_key(new)).expect("a key").secret.reveal().to_owned();
        let documents = Documents::default();
        let http =
            Http::new(Arc::clone(&service) as Arc<dyn Petstore>, HttpSettings::new(1, documents), false);
        Self { store, service, http, key, now, drawn: drawn() }
    }

    fn call(&self) -> Call<'_> {
        Call { key: self.key.as_bytes(), address: CLIENT, cost: Cost::One, now: self.now }
    }

    fn request(&self, method: &str, target: &str, body: &str) -> Vec<u8> {
        let key = &self.key;
        let length = match body.len() {
            0 => String::new(),
            length => format!("Content-Type: application/json\r\nContent-Length: {length}\r\n"),
        };
        let head =
            format!("{method} /v1{target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n");
        format!("{head}{length}\r\n{body}").into_bytes()
    }

    /// The requests, one for each drawn pet: method, target and body.
    fn requests(&self, of: impl Fn(PetId) -> (&'static str, String, String)) -> Vec<Vec<u8>> {
        let request = |id: &PetId| {
            let (method, target, body) = of(*id);
            self.request(method, &target, &body)
        };
        self.drawn.iter().map(request).collect()
    }

    /// The requests for pages. Cursors are opaque, so all pages are read once to collect them.
    fn pages(&self) -> Vec<Vec<u8>> {
        let walk = self.connected(async |client| {
            let mut requests = vec![self.request("GET", &format!("/pets?limit={PAGE}"), "")];
            let mut answer = Vec::with_capacity(PIPE);
            loop {
                exchange(client, &requests[requests.len() - 1], &mut answer).await;
                let text = String::from_utf8_lossy(&answer);
                let Some((_, cursor)) = text.split_once("cursor=") else { return requests };
                let cursor = cursor.split('>').next().unwrap_or_default();
                requests.push(self.request("GET", &format!("/pets?limit={PAGE}&cursor={cursor}"), ""));
            }
        });
        let page_of = |id: &PetId| (usize::try_from(id.get()).expect("few pets") - 1) / PAGE;
        self.drawn.iter().map(|id| walk[page_of(id)].clone()).collect()
    }

    /// Returns the time of this number of consecutive exchanges on one connection.
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

    /// Runs a function with a new connection.
    fn connected<T>(&self, work: impl AsyncFnOnce(&mut DuplexStream) -> T) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        LocalSet::new().block_on(&runtime, async {
            let server = self.http.serve_here();
            let (mut client, end) = tokio::io::duplex(PIPE);
            let serving = spawn_local(server.serve_connection(end, CLIENT));
            let done = work(&mut client).await;
            drop(client);
            serving.await.expect("the connection ends");
            done
        })
    }
}

/// Sends a request, and reads its answer.
async fn exchange(client: &mut DuplexStream, request: &[u8], answer: &mut Vec<u8>) {
    answer.clear();
    client.write_all(request).await.expect("the server reads");
    client.read_buf(answer).await.expect("the server answers");
    let is_whole = answer.starts_with(b"HTTP/1.1 20") && matches!(answer.last(), Some(b'}' | b']'));
    assert!(is_whole, "{}", String::from_utf8_lossy(answer));
}

/// Fills an empty store with pets of the highest stock, in ten categories.
fn fill(store: &MemoryStore) {
    const CATEGORIES: u32 = 10;
    const NAMES: [&str; 4] = ["Bella", "Rocky", "Coco", "Milo"];
    let category_id = |number: u32| CategoryId::new(u64::from(number % CATEGORIES) + 1).expect("an id");
    let mut import = store.import().expect("an empty store");
    for number in 0..CATEGORIES {
        let name = CategoryName::parse(&format!("Category {number}")).expect("a name");
        let category = Category::new(category_id(number), name);
        import.category(category, Version::FIRST).expect("a category");
    }
    let pets = || (1..=PETS).map(|number| (number, PetId::new(number.into()).expect("an id")));
    let status = PetStatus::Available;
    for (number, id) in pets() {
        let name = PetName::parse(&format!("{} {id}", NAMES[number as usize % NAMES.len()])).expect("a name");
        import.pet(Pet::new(id, name, category_id(number), status), Version::FIRST).expect("a pet");
    }
    for (_, pet_id) in pets() {
        let item = InventoryItem { pet_id, quantity: StockLevel::MAX.into(), status };
        import.item(item, Version::FIRST).expect("an item");
    }
    import.finish().expect("all of them");
}

/// Pets drawn at random, the same ones in every run.
fn drawn() -> Vec<PetId> {
    let mut random = Random::seeded(7);
    (0..DRAWN).map(|_| PetId::new(u64::from(random.below(PETS)) + 1).expect("an id")).collect()
}

fn one_of(pet_id: PetId) -> NewOrder {
    NewOrder::new(pet_id, OrderQuantity::ONE)
}

/// A clock that always shows the same time, so that no window ends.
struct Still(Timestamp);

impl Clock for Still {
    fn now(&self) -> Timestamp {
        self.0
    }
}

#[derive(Default)]
struct Counted(AtomicU8);

impl Entropy for Counted {
    fn bits(&self) -> Result<[u8; 32], StoreError> {
        Ok([self.0.fetch_add(1, Ordering::Relaxed); 32])
    }
}

/// Returns the output of a future that is ready at the first poll, as the futures of a store in memory are.
fn answered<F: Future>(future: F) -> F::Output {
    match poll(pin!(future)) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a store in memory answers at once"),
    }
}

fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// The name of the measurement of the whole in each group.
const WHOLE: &str = "whole";

/// Returns the medians of the selected steps in nanoseconds, by group and step, as criterion has written them to its
/// folder.
fn figures(folder: &Path) -> BTreeMap<String, BTreeMap<String, f64>> {
    let names = |folder: &Path| -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    let median = |path: &Path| {
        let estimates: serde_json::Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        estimates["median"]["point_estimate"].as_f64()
    };
    let steps_of = |group: &String| -> BTreeMap<String, f64> {
        let folder = folder.join(group);
        let figure =
            |step: String| median(&folder.join(&step).join("new/estimates.json")).map(|nanos| (step, nanos));
        names(&folder).into_iter().filter_map(figure).collect()
    };
    let groups = names(folder).into_iter().map(|group| (steps_of(&group), group));
    groups.filter(|(steps, _)| !steps.is_empty()).map(|(steps, group)| (group, steps)).collect()
}

fn print(figures: &BTreeMap<String, BTreeMap<String, f64>>) {
    if figures.is_empty() {
        return;
    }
    println!("\n| step | ns | of the whole |\n|---|---|---|");
    for (group, steps) in figures {
        for (step, nanos) in steps {
            let share = steps.get(WHOLE).map_or("—".to_owned(), |whole| format!("{:.2}", nanos / whole));
            println!("| {group}, {step} | {nanos:.0} | {share} |");
        }
    }
}
