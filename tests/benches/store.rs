//! Costs of the store in memory, as ratios within one run: `cargo bench -p petstore-tests --bench store`.
//!
//! A ratio compares two measurements that take turns, so it hardly depends on the machine's varying speed; an absolute
//! figure does. A benchmark never fails.

use std::convert::Infallible;
use std::hint::black_box;
use std::num::NonZeroUsize;
use std::sync::Arc;

use petstore_domain::{
    CategoryId, CategoryName, CreateCategory, CreatePet, NewCategory, NewOrder, NewPet, OrderQuantity, PetId,
    PetName, PetStatus, PlaceOrder, Precondition, SetStock, StockLevel, Timestamp,
};
use petstore_memory::MemoryStore;
use petstore_ports::{PageRequest, PetFilter, PetReader, Resettable, Row, SortDirection, run};
use tokio::time::Instant;

/// Rounds of a comparison; the median is printed.
const ROUNDS: usize = 15;

/// One pet in this many is in the rare category.
const RARE: u32 = 1_000;

const RARE_CATEGORY: u64 = 11;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    println!("| what | figure |\n|---|---|");
    // This measurement is the first, because memory that an earlier one has freed would be reused and not counted.
    memory();
    pages(&runtime);
    rare(&runtime);
    orders();
    resets();
}

/// A page of 100 in a store of a million pets, against one in a store of ten thousand.
fn pages(runtime: &tokio::runtime::Runtime) {
    let (small, large) = (shop(10_000), shop(1_000_000));
    let available =
        PetFilter { statuses: [PetStatus::Available].into_iter().collect(), ..PetFilter::default() };
    for (name, filter) in [("all", PetFilter::default()), ("available", available)] {
        let mut ratios = Vec::new();
        let mut of_large = Vec::new();
        for round in 0..ROUNDS as u64 {
            let one = page_time(runtime, &small, &filter, 10_000 - 200, round);
            let other = page_time(runtime, &large, &filter, 1_000_000 - 200, round);
            ratios.push(other / one);
            of_large.push(other);
        }
        println!("| page of 100 ({name}), 1M / 10k pets | {:.2} |", median(ratios));
        println!("| page of 100 ({name}), 1M pets | {:.1} us |", median(of_large));
    }
}

/// Measures a page of 100 rare pets and a page of 100 of all pets. One of every [`RARE`] pets is rare. The variable
/// `PETS` sets the number of all pets.
fn rare(runtime: &tokio::runtime::Runtime) {
    let pets = std::env::var("PETS").map_or(1_000_000, |pets| pets.parse().expect("PETS is a number"));
    // At least a hundred rare pets follow the start of the last page.
    let last = u64::from(pets).checked_sub(101 * u64::from(RARE)).expect("PETS is at least 101,000");
    let store = shop(pets);
    let category_id = CategoryId::new(RARE_CATEGORY);
    let filter = PetFilter { category_id: Some(category_id.expect("an id")), ..PetFilter::default() };
    let (mut of_rare, mut ratios) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS as u64 {
        let all = page_time(runtime, &store, &PetFilter::default(), last, round);
        of_rare.push(page_time(runtime, &store, &filter, last, round));
        ratios.push(of_rare[of_rare.len() - 1] / all);
    }
    println!("| page of 100 of one pet in {RARE}, {pets} pets | {:.1} us |", median(of_rare));
    println!("| the same / page of 100 of all | {:.2} |", median(ratios));
}

/// Mean time of a page in microseconds. The pages start at ids up to `last`.
fn page_time(
    runtime: &tokio::runtime::Runtime,
    store: &MemoryStore,
    filter: &PetFilter,
    last: u64,
    round: u64,
) -> f64 {
    const PAGES: u32 = 400;
    let began = Instant::now();
    runtime.block_on(async {
        for page in 0..PAGES {
            let after = (u64::from(page) * 7_919 + round * 104_729) % last;
            let request = PageRequest { order: SortDirection::Ascending, after: Some(after), limit: 100 };
            let mut names = 0;
            let mut sink = |record: &petstore_domain::PetRecord| names += record.pet.name.as_bytes().len();
            store.pets(filter, &request, &mut sink).await.expect("a store in memory answers");
            black_box(names);
        }
    });
    began.elapsed().as_secs_f64() * 1e6 / f64::from(PAGES)
}

/// Orders a second on all cores, of a thousand pets and of one.
fn orders() {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let (mut many, mut ratios) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        many.push(order_rate(cores, 1_000));
        ratios.push(order_rate(cores, 1) / many[many.len() - 1]);
    }
    println!("| orders a second, {cores} threads, 1,000 pets | {:.0} |", median(many));
    println!("| the same of one pet / of 1,000 | {:.2} |", median(ratios));
}

/// Resets to a shop that was checked before, as each reset of a sandbox but the first is.
fn resets() {
    const RESETS: u64 = 101;
    for pets in [100, 1_000, 10_000] {
        let rows = rows(&shop(pets));
        let store = MemoryStore::new();
        let time = |epoch| {
            let began = Instant::now();
            store.reset(Arc::clone(&rows), epoch).expect("a sound shop");
            began.elapsed().as_secs_f64() * 1e3
        };
        time(1);
        let times: Vec<f64> = (2..2 + RESETS).map(time).collect();
        let most = times.iter().copied().fold(0.0, f64::max);
        println!("| reset to {pets} pets; at most | {:.2}; {most:.2} ms |", median(times));
    }
}

/// The rows of a shop, without accounts and keys.
fn rows(store: &MemoryStore) -> Arc<[Row]> {
    let mut rows = vec![];
    let exported = store.export(|row| {
        if matches!(row, Row::Category(_) | Row::Pet(_) | Row::Order(_)) {
            rows.push(row);
        }
        Ok::<(), Infallible>(())
    });
    match exported {
        Ok(()) => rows.into(),
    }
}

fn order_rate(threads: usize, pets: u32) -> f64 {
    const ORDERS: u32 = 100_000;
    let store = shop(pets);
    stock_up(&store, pets);
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let store = &store;
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
                runtime.block_on(async {
                    for n in 0..ORDERS {
                        let number = u64::from(n.wrapping_mul(7_919) % pets) + 1;
                        let pet_id = PetId::new(number).expect("an id");
                        let new = NewOrder::new(pet_id, OrderQuantity::ONE);
                        black_box(
                            run(&**store, PlaceOrder { new }, Timestamp::EPOCH)
                                .await
                                .expect("the store answers")
                                .is_ok(),
                        );
                    }
                });
            });
        }
    });
    let orders = ORDERS * u32::try_from(threads).expect("a machine's cores");
    f64::from(orders) / began.elapsed().as_secs_f64()
}

/// Resident bytes for each of a million pets.
fn memory() {
    const PETS: u32 = 1_000_000;
    let before = resident();
    let store = shop(PETS);
    let after = resident();
    println!("| memory a pet, 1M pets | {:.0} bytes |", (after - before) / f64::from(PETS));
    drop(store);
}

fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").trim().parse::<f64>().unwrap_or(0.0) * 1024.0
}

/// A store with this many pets, all available, in ten categories and a rare one.
fn shop(pets: u32) -> Arc<MemoryStore> {
    const NAMES: [&str; 4] = ["Bella", "Rocky", "Coco", "Milo"];
    let store = Arc::new(MemoryStore::new());
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        for n in 0..RARE_CATEGORY {
            let name = CategoryName::parse(&format!("Category {n}")).expect("a name");
            let new = NewCategory::new(name);
            run(&*store, CreateCategory { new }, Timestamp::EPOCH)
                .await
                .expect("the store answers")
                .expect("a new name");
        }
        for n in 1..=pets {
            let name = PetName::parse(&format!("{} {n}", NAMES[n as usize % NAMES.len()])).expect("a name");
            let category = if n % RARE == 0 { RARE_CATEGORY } else { u64::from(n) % (RARE_CATEGORY - 1) + 1 };
            let category_id = CategoryId::new(category).expect("an id");
            let new = NewPet::new(name, category_id);
            run(&*store, CreatePet { new }, Timestamp::EPOCH)
                .await
                .expect("the store answers")
                .expect("the category exists");
        }
    });
    store
}

fn stock_up(store: &MemoryStore, pets: u32) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let level = StockLevel::new(i64::from(StockLevel::MAX)).expect("the maximum");
    runtime.block_on(async {
        for n in 1..=pets {
            let id = PetId::new(u64::from(n)).expect("an id");
            let set = SetStock { id, level, precondition: Precondition::None };
            run(store, set, Timestamp::EPOCH).await.expect("the store answers").expect("the pet exists");
        }
    });
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
