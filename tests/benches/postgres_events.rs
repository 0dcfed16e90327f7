//! Durable orders on PostgreSQL with events, compared with the same orders without them. Run by `bash tests/benches/postgres
//! events`, which starts the database and keeps this program on one processor.
//!
//! Both kinds of orders take turns on one store. A benchmark never fails.

use std::sync::Arc;
use std::time::Duration;

use petstore_domain::{
    CategoryName, Changes, CreateCategory, CreatePet, Footprint, NewCategory, NewOrder, NewPet, Operation,
    OrderQuantity, PetId, PetName, PlaceOrder, Precondition, SetStock, StockLevel, Timestamp, View,
};
use petstore_ports::{Transactor, Transition, run};
use petstore_postgres::{Options, PostgresStore, Target};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// The rounds of the comparison.
const ROUNDS: usize = 12;

/// The time of each half of a round.
const HALF: Duration = Duration::from_secs(2);

/// The number of concurrent callers. Each of them places one order at a time.
const CALLERS: u64 = 64;

/// The pets that are ordered.
const PETS: u64 = 10_000;

fn main() {
    let Ok(url) = std::env::var("PETSTORE_BENCH_URL") else {
        println!("PETSTORE_BENCH_URL is missing: it names a PostgreSQL database for this benchmark");
        return;
    };
    let target = Target::parse(&url).expect("PETSTORE_BENCH_URL is the URL of a database");
    let options = Options { schema: "events_bench".to_owned(), seed: 1 };
    let store = Arc::new(PostgresStore::open(target, options).expect("the store can be opened"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(compare(&store));
}

async fn compare(store: &Arc<PostgresStore>) {
    fill(store).await;
    let mut ratios = Vec::new();
    let mut rates = Vec::new();
    for round in 0..ROUNDS {
        // The two halves are run in alternating order, because each half leaves a larger table for the next half.
        let (with, without) = if round % 2 == 0 {
            let with = rate(store, true).await;
            (with, rate(store, false).await)
        } else {
            let without = rate(store, false).await;
            (rate(store, true).await, without)
        };
        ratios.push(with / without);
        rates.push(with);
    }
    println!(
        "orders a second with events: {:.0}; with events / without: {:.2} ({:.2} to {:.2}), gate 0.90",
        median(&mut rates),
        median(&mut ratios),
        ratios[0],
        ratios[ROUNDS - 1],
    );
}

/// Creates the pets with their units.
async fn fill(store: &Arc<PostgresStore>) {
    let name = CategoryName::parse("Dogs").expect("a name");
    let new = NewCategory::new(name);
    let created = run(&**store, CreateCategory { new }, Timestamp::EPOCH).await.expect("the store works");
    let category_id = created.expect("an empty store").value.id;
    let level = StockLevel::new(1_000_000).expect("a level");
    let mut fills = JoinSet::new();
    for _ in 0..CALLERS {
        let store = Arc::clone(store);
        fills.spawn(async move {
            for _ in 0..PETS.div_ceil(CALLERS) {
                let new = NewPet::new(PetName::parse("Rex").expect("a name"), category_id);
                let pet = run(&*store, CreatePet { new }, Timestamp::EPOCH).await.expect("the store works");
                let id = pet.expect("the category exists").value.id;
                let stock = SetStock { id, level, precondition: Precondition::None };
                run(&*store, stock, Timestamp::EPOCH)
                    .await
                    .expect("the store works")
                    .expect("the pet exists");
            }
        });
    }
    fills.join_all().await;
}

/// Places orders for half of a round. Returns the number of orders a second.
async fn rate(store: &Arc<PostgresStore>, with_events: bool) -> f64 {
    let begun = Instant::now();
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let store = Arc::clone(store);
        callers.spawn(async move {
            let mut placed: u32 = 0;
            while begun.elapsed() < HALF {
                let number = u64::from(placed) * CALLERS + caller;
                // A prime step visits all pets in an order without locality.
                let pet_id = PetId::new(number * 7_919 % PETS + 1).expect("an id");
                let order = PlaceOrder { new: NewOrder::new(pet_id, OrderQuantity::ONE) };
                if with_events {
                    let order = run(&*store, order, Timestamp::EPOCH).await.expect("the store works");
                    order.expect("there are units");
                } else {
                    store.transact(Arc::new(Silent(order))).await.expect("the store works");
                }
                placed += 1;
            }
            placed
        });
    }
    let placed: u32 = callers.join_all().await.into_iter().sum();
    f64::from(placed) / begun.elapsed().as_secs_f64()
}

/// An operation whose changes cause no events.
struct Silent<O>(O);

impl<O: Operation> Transition for Silent<O> {
    fn footprint(&self, seen: &View) -> Footprint {
        self.0.footprint(seen)
    }

    fn decide(&self, view: &View) -> Option<Changes> {
        self.0.decide(view).ok().map(|(changes, _)| changes)
    }
}

/// Sorts the figures, and returns the middle one.
fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
