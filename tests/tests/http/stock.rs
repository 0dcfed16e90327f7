//! Stock under crowds: never oversold, given back once, every unit accounted for.

use std::collections::BTreeSet;
use std::sync::Barrier;

use serde_json::{Value, json};

use crate::harness::Answer;
use crate::stall::{Caller, Stall, ids};

/// Does these requests at once, each on a connection of its own.
fn at_once(callers: &mut [Caller], requests: &[Request]) -> Vec<Answer> {
    assert!(requests.len() <= callers.len());
    let start = Barrier::new(requests.len());
    std::thread::scope(|scope| {
        let threads: Vec<_> = callers
            .iter_mut()
            .zip(requests)
            .map(|(caller, request)| {
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    caller.send(request.method, &request.path, &[], request.body.as_ref())
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

struct Request {
    method: &'static str,
    path: String,
    body: Option<Value>,
}

/// What one client of a crowd does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Order(u64),
    Cancel(u64),
    Complete(u64),
    Adjust(i64),
    Set(u64),
}

impl Act {
    fn request(self, pet: u64) -> Request {
        let (method, path, body) = match self {
            Self::Order(units) => {
                ("POST", "/store/orders".to_owned(), Some(json!({"petId": pet, "quantity": units})))
            }
            Self::Cancel(order) => ("DELETE", format!("/store/orders/{order}"), None),
            Self::Complete(order) => {
                ("PATCH", format!("/store/orders/{order}"), Some(json!({"complete": true})))
            }
            Self::Adjust(delta) => {
                ("POST", format!("/inventory/{pet}/adjustments"), Some(json!({"delta": delta})))
            }
            Self::Set(units) => ("PATCH", format!("/inventory/{pet}"), Some(json!({"quantity": units}))),
        };
        Request { method, path: format!("/v1{path}"), body }
    }
}

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

/// The number of changes in an item's entity tag.
fn version(item: &Answer) -> u64 {
    let tag = item.header("etag").unwrap().trim_matches('"');
    u64::from_str_radix(tag.rsplit('-').next().unwrap(), 16).unwrap()
}

/// One pet in a crowd, and the books that the test keeps of it.
struct Books {
    pet: u64,
    free: i64,
    version: u64,
    /// Open orders with their units, by what the clients were answered.
    open: Vec<(u64, u64)>,
    complete: BTreeSet<u64>,
}

impl Books {
    /// Sixty acts. Some orders are cancelled twice, some are cancelled and completed.
    fn acts(&self, numbers: &mut Numbers, sets: bool) -> Vec<Act> {
        let mut acts: Vec<_> = (0..6).map(|_| Act::Adjust([-3, -1, 1, 2, 4, 6][numbers.below(6)])).collect();
        for _ in 0..12.min(self.open.len()) {
            let (order, _) = self.open[numbers.below(self.open.len())];
            acts.push(Act::Cancel(order));
            acts.push(if numbers.below(2) == 0 { Act::Cancel(order) } else { Act::Complete(order) });
        }
        if sets {
            acts.push(Act::Set(numbers.below(12) as u64));
        }
        while acts.len() < 60 {
            acts.push(Act::Order(1 + numbers.below(3) as u64));
        }
        for place in (1..acts.len()).rev() {
            acts.swap(place, numbers.below(place + 1));
        }
        acts
    }

    /// Holds the answers against the rules, and returns by how much each that succeeded changed the free units.
    fn enter(&mut self, acts: &[Act], answers: &[Answer]) -> Vec<i64> {
        let mut changes = Vec::new();
        let mut cancelled = BTreeSet::new();
        for (act, answer) in acts.iter().zip(answers) {
            match (act, answer.status) {
                (Act::Order(units), 201) => {
                    self.open.push((answer.id(), *units));
                    changes.push(-i64::try_from(*units).unwrap());
                }
                (Act::Order(_), 409) => {
                    assert!(matches!(answer.code().as_str(), "pet_not_available" | "insufficient_stock"));
                }
                (Act::Cancel(order), 204) => {
                    assert!(cancelled.insert(*order), "order {order} was cancelled twice");
                }
                (Act::Cancel(_), 404 | 409) | (Act::Complete(_), 404) | (Act::Set(_), 200) => {}
                (Act::Complete(order), 200) => drop(self.complete.insert(*order)),
                (Act::Adjust(delta), 200) => changes.push(*delta),
                (Act::Adjust(_), 409) => assert_eq!(answer.code(), "insufficient_stock"),
                _ => panic!("{act:?} was answered {} {}", answer.status, answer.text()),
            }
        }
        for order in &cancelled {
            assert!(!self.complete.contains(order), "order {order} was cancelled and completed");
            let place = self.open.iter().position(|(open, _)| open == order).expect("it was open");
            changes.push(i64::try_from(self.open.swap_remove(place).1).unwrap());
        }
        // Whoever lost the race for an order lost it to somebody.
        for (act, answer) in acts.iter().zip(answers) {
            if let (Act::Cancel(order) | Act::Complete(order), 404) = (act, answer.status) {
                assert!(cancelled.contains(order), "order {order} is gone, and nobody cancelled it");
            }
            if let (Act::Cancel(order), 409) = (act, answer.status) {
                assert!(self.complete.contains(order), "order {order} is not complete");
            }
        }
        self.open.retain(|(order, _)| !self.complete.contains(order));
        changes
    }
}

/// Whether some of these numbers add up to this sum.
fn adds_up(numbers: &[i64], sum: i64) -> bool {
    let sums = numbers
        .iter()
        .fold(BTreeSet::from([0]), |sums, number| sums.iter().flat_map(|sum| [*sum, sum + number]).collect());
    sums.contains(&sum)
}

#[test]
fn of_twelve_buyers_of_the_last_unit_one_gets_it() {
    let stall = Stall::open();
    let mut callers: Vec<_> = (0..12).map(|_| Caller::of(&stall.client)).collect();
    for _ in 0..40 {
        let pet = stall.pet();
        let requests: Vec<_> = (0..12).map(|_| Act::Order(1).request(pet)).collect();
        let answers = at_once(&mut callers, &requests);
        assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
        for refused in answers.iter().filter(|answer| answer.status != 201) {
            assert_eq!(refused.outcome(), (409, "pet_not_available".to_owned()));
        }
        assert_eq!(stall.state(pet), ("pending".to_owned(), 0));
    }
}

#[test]
fn of_twelve_that_cancel_one_order_one_gives_the_units_back() {
    let stall = Stall::open();
    let mut callers: Vec<_> = (0..12).map(|_| Caller::of(&stall.client)).collect();
    for _ in 0..40 {
        let pet = stall.pet_of(5);
        let order = stall.order(pet, 3);
        let requests: Vec<_> = (0..12).map(|_| Act::Cancel(order).request(pet)).collect();
        let answers = at_once(&mut callers, &requests);
        let count = |wanted| answers.iter().filter(|answer| answer.status == wanted).count();
        assert_eq!((count(204), count(404)), (1, 11));
        assert_eq!(stall.state(pet), ("available".to_owned(), 5));
    }
}

#[test]
fn in_200_rounds_of_60_at_once_every_unit_is_accounted_for() {
    let stall = Stall::open();
    let pet = stall.pet_of(30);
    let item = stall.client.get(&format!("/v1/inventory/{pet}"));
    let version_now = version(&item);
    let mut books = Books { pet, free: 30, version: version_now, open: vec![], complete: BTreeSet::new() };
    let mut callers: Vec<_> = (0..60).map(|_| Caller::of(&stall.client)).collect();
    let mut numbers = Numbers(7);
    for round in 0..200 {
        let sets = round % 3 == 0;
        let acts = books.acts(&mut numbers, sets);
        let requests: Vec<_> = acts.iter().map(|act| act.request(books.pet)).collect();
        let answers = at_once(&mut callers, &requests);
        let completions = acts.iter().filter(|act| matches!(act, Act::Complete(_))).count() as u64;
        let changes = books.enter(&acts, &answers);

        let item = stall.client.get(&format!("/v1/inventory/{pet}"));
        let free = item.json()["quantity"].as_i64().unwrap();
        let set = acts.iter().find_map(|act| if let Act::Set(units) = act { Some(*units) } else { None });
        match set {
            None => assert_eq!(free, books.free + changes.iter().sum::<i64>(), "round {round}"),
            // What came before it was counted anew; what came after it still counts.
            Some(units) => {
                let after = free - i64::try_from(units).unwrap();
                assert!(adds_up(&changes, after), "round {round}: {units} set, {free} left, {changes:?}");
            }
        }
        // Each change is a version: none is lost, none is made twice. A completion changes the item when it sells the
        // pet, and setting it to what it is changes nothing.
        let made = version(&item) - books.version;
        let counted = changes.len() as u64;
        let most = counted + completions + u64::from(sets);
        assert!((counted..=most).contains(&made), "round {round}: {made} versions, {counted} changes");

        let status = match (free, books.open.is_empty()) {
            (0, false) => "pending",
            (0, true) => "sold",
            _ => "available",
        };
        assert_eq!(stall.state(pet), (status.to_owned(), u64::try_from(free).unwrap()), "round {round}");
        (books.free, books.version) = (free, version(&item));
    }
    let mut open: Vec<_> = books.open.iter().map(|(order, _)| *order).collect();
    open.sort_unstable();
    assert_eq!(all_orders(&stall, "complete=false"), open);
    assert_eq!(all_orders(&stall, "complete=true"), books.complete.into_iter().collect::<Vec<_>>());
}

/// The ids of all orders that a filter finds.
fn all_orders(stall: &Stall, filter: &str) -> Vec<u64> {
    let mut path = format!("/v1/store/orders?{filter}");
    let mut found = Vec::new();
    loop {
        let page = stall.client.get(&path);
        found.extend(ids(&page));
        match page.link("next") {
            Some(next) => path = format!("/v1{}", next.split_once("/v1").unwrap().1),
            None => return found,
        }
    }
}

#[test]
fn of_sixty_that_take_from_thirty_units_thirty_get_one() {
    let stall = Stall::open();
    let mut callers: Vec<_> = (0..60).map(|_| Caller::of(&stall.client)).collect();
    for _ in 0..10 {
        let pet = stall.pet_of(30);
        let acts: Vec<_> =
            (0..60).map(|number| if number % 2 == 0 { Act::Order(1) } else { Act::Adjust(-1) }).collect();
        let requests: Vec<_> = acts.iter().map(|act| act.request(pet)).collect();
        let answers = at_once(&mut callers, &requests);
        assert_eq!(answers.iter().filter(|answer| answer.status < 300).count(), 30);
        assert_eq!(stall.state(pet).1, 0);
    }
}
