//! One pet under contention: all operations on it are serial.

use std::sync::{Arc, Mutex};

use petstore_domain::{OrderId, OrderRecord, PetId, PetRecord, PetStatus};
use petstore_ports::{OrderFilter, SortDirection};

use crate::Subject;
use crate::history::History;
use crate::listing::walk;
use crate::make::{adjust_stock, cancel_order, complete_order, place_order, set_status, set_stock};
use crate::random::Random;
use crate::together::together;

/// The number of rounds, and the number of callers in each round.
const ROUNDS: usize = 200;
const CALLERS: usize = 60;

/// Many callers place, cancel and complete orders of one pet, change its stock and its status, and read it. Every
/// decision follows from the one before it, and every caller sees the earlier answers. In the end the pet counts
/// exactly the open orders.
pub async fn decisions_on_one_pet_are_serial(subject: &Subject) {
    let pet = subject.add_only_pet(5).await;
    let history = Arc::new(History::of(subject, pet).await);
    let orders: Arc<Mutex<Vec<OrderId>>> = Arc::default();
    for round in 0..ROUNDS {
        together(CALLERS, |caller| {
            let (subject, history, orders) = (subject.clone(), Arc::clone(&history), Arc::clone(&orders));
            let seed = (round * CALLERS + caller) as u64;
            async move { act(&subject, &history, &orders, pet, &mut Random::seeded(seed)).await }
        })
        .await;
    }
    history.check(subject).await;
    let record = subject.pet(pet).await.expect("the pet is there");
    let filter = OrderFilter { pet_id: Some(pet), complete: Some(false) };
    let open: Vec<OrderRecord> = walk(subject, &filter, SortDirection::Ascending, 100).await;
    assert_eq!(record.open_orders as usize, open.len(), "the pet counts the orders that are open");
}

/// One random operation of a caller.
async fn act(
    subject: &Subject,
    history: &History,
    orders: &Mutex<Vec<OrderId>>,
    pet: PetId,
    random: &mut Random,
) {
    let known = {
        let orders = orders.lock().expect("no panic under the lock");
        // Only the latest orders are used, because most of the older ones are closed.
        let recent = &orders[orders.len().saturating_sub(40)..];
        if recent.is_empty() { None } else { Some(*random.pick(recent)) }
    };
    let choice = random.below(12);
    match (choice, known) {
        (0..4, _) => {
            let order = place_order(pet, random.within(1, 3));
            if let Ok(placed) = history.run(subject, "an order", order).await {
                orders.lock().expect("no panic under the lock").push(placed.value.id);
            }
        }
        (4..6, Some(order)) => drop(history.run(subject, "a cancellation", cancel_order(order)).await),
        (6, Some(order)) => drop(history.run(subject, "a completion", complete_order(order)).await),
        (7, _) => {
            let set = set_stock(pet, random.within(0, 9));
            let item = history.run(subject, "a count", set.clone()).await.expect("the pet is there");
            assert_eq!(item.value.quantity, u64::from(set.level.get()), "a count is answered as it was set");
        }
        (8, _) => {
            let units = if random.once_in(2) { 2 } else { -1 };
            drop(history.run(subject, "an adjustment", adjust_stock(pet, units)).await);
        }
        (9, _) => {
            let status = *random.pick(&PetStatus::ALL);
            drop(history.run(subject, "a change of status", set_status(pet, status)).await);
        }
        _ => history.read(subject).await,
    }
}

/// Orders, cancellations, completions and adjustments of one pet create no unit and lose none. This case does not check
/// the history.
pub async fn a_hot_pet_conserves_its_units(subject: &Subject) {
    let pet = subject.add_only_pet(50).await;
    let put_in: i64 = together(32, |caller| {
        let subject = subject.clone();
        async move { run_random_orders(&subject, &[pet], caller as u64, 40).await }
    })
    .await
    .into_iter()
    .sum();
    check_units(subject, &[pet], 50 + put_in).await;
}

/// Runs random operations on the pets. Returns the units added minus the units removed.
pub(crate) async fn run_random_orders(subject: &Subject, pets: &[PetId], seed: u64, times: usize) -> i64 {
    let mut random = Random::seeded(seed);
    let mut mine: Vec<OrderId> = Vec::new();
    let mut put_in = 0;
    for _ in 0..times {
        let pet = *random.pick(pets);
        match random.below(6) {
            0..3 => {
                if let Ok(placed) = subject.run(place_order(pet, random.within(1, 4))).await {
                    mine.push(placed.value.id);
                }
            }
            3 => {
                if let Some(order) = mine.pop() {
                    subject.run(cancel_order(order)).await.expect("no other task closes it");
                }
            }
            4 => {
                if let Some(order) = mine.pop() {
                    subject.run(complete_order(order)).await.expect("no other task closes it");
                }
            }
            _ => {
                let units = if random.once_in(2) { 3 } else { -2 };
                if subject.run(adjust_stock(pet, units)).await.is_ok() {
                    put_in += units;
                }
            }
        }
    }
    put_in
}

/// Panics unless free, open and completed units add up to the units put in, and every pet counts its open orders.
pub(crate) async fn check_units(subject: &Subject, pets: &[PetId], put_in: i64) {
    let mut units = 0;
    for pet in pets {
        let record: PetRecord = subject.pet(*pet).await.expect("the pet is there");
        let filter = OrderFilter { pet_id: Some(*pet), complete: None };
        let orders: Vec<OrderRecord> = walk(subject, &filter, SortDirection::Ascending, 100).await;
        let ordered: i64 = orders.iter().map(|one| i64::from(one.order.quantity.get())).sum();
        units += i64::try_from(record.stock).expect("a small stock") + ordered;
        let open = orders.iter().filter(|one| !one.order.complete).count();
        assert_eq!(record.open_orders as usize, open, "a pet counts the orders that are open: {record:?}");
    }
    assert_eq!(units, put_in, "units put in are units free, in open orders, or sold");
}
