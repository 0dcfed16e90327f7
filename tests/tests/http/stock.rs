//! Stock under concurrent requests: never oversold, given back once, every unit accounted for.

use std::collections::BTreeSet;
use std::sync::Barrier;

use serde_json::{Value, json};

use crate::fixture::{Caller, Fixture, ids};
use crate::harness::Answer;

/// Sends these requests concurrently, each on a separate connection.
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

/// One request of a concurrent client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Order(u64),
    Cancel(u64),
    Complete(u64),
    Adjust(i64),
    Set(u64),
}

impl Action {
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

/// A deterministic pseudo-random sequence.
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

/// One pet under concurrent requests, and the units that the test expects it to have.
struct Ledger {
    pet: u64,
    free: i64,
    version: u64,
    /// The open orders with their units, as the answers to the clients report them.
    open: Vec<(u64, u64)>,
    complete: BTreeSet<u64>,
}

impl Ledger {
    /// Sixty actions. Some orders are cancelled twice, others are both cancelled and completed.
    fn actions(&self, numbers: &mut Numbers, sets: bool) -> Vec<Action> {
        let mut actions: Vec<_> =
            (0..6).map(|_| Action::Adjust([-3, -1, 1, 2, 4, 6][numbers.below(6)])).collect();
        for _ in 0..12.min(self.open.len()) {
            let (order, _) = self.open[numbers.below(self.open.len())];
            actions.push(Action::Cancel(order));
            actions.push(if numbers.below(2) == 0 { Action::Cancel(order) } else { Action::Complete(order) });
        }
        if sets {
            actions.push(Action::Set(numbers.below(12) as u64));
        }
        while actions.len() < 60 {
            actions.push(Action::Order(1 + numbers.below(3) as u64));
        }
        for place in (1..actions.len()).rev() {
            actions.swap(place, numbers.below(place + 1));
        }
        actions
    }

    /// Checks the answers against the rules, and returns the change of the free units by each request that succeeded.
    fn record(&mut self, actions: &[Action], answers: &[Answer]) -> Vec<i64> {
        let mut changes = Vec::new();
        let mut cancelled = BTreeSet::new();
        for (action, answer) in actions.iter().zip(answers) {
            match (action, answer.status) {
                (Action::Order(units), 201) => {
                    self.open.push((answer.id(), *units));
                    changes.push(-i64::try_from(*units).unwrap());
                }
                (Action::Order(_), 409) => {
                    assert!(matches!(answer.code().as_str(), "pet_not_available" | "insufficient_stock"));
                }
                (Action::Cancel(order), 204) => {
                    assert!(cancelled.insert(*order), "order {order} was cancelled twice");
                }
                (Action::Cancel(_), 404 | 409) | (Action::Complete(_), 404) | (Action::Set(_), 200) => {}
                (Action::Complete(order), 200) => drop(self.complete.insert(*order)),
                (Action::Adjust(delta), 200) => changes.push(*delta),
                (Action::Adjust(_), 409) => assert_eq!(answer.code(), "insufficient_stock"),
                _ => panic!("{action:?} was answered {} {}", answer.status, answer.text()),
            }
        }
        for order in &cancelled {
            assert!(!self.complete.contains(order), "order {order} was cancelled and completed");
            let place = self.open.iter().position(|(open, _)| open == order).expect("it was open");
            changes.push(i64::try_from(self.open.swap_remove(place).1).unwrap());
        }
        // An answer that the order does not exist, or is complete, is correct only if another request of this round
        // deleted or completed the order.
        for (action, answer) in actions.iter().zip(answers) {
            if let (Action::Cancel(order) | Action::Complete(order), 404) = (action, answer.status) {
                assert!(cancelled.contains(order), "order {order} is gone, and no request cancelled it");
            }
            if let (Action::Cancel(order), 409) = (action, answer.status) {
                assert!(self.complete.contains(order), "order {order} is not complete");
            }
        }
        self.open.retain(|(order, _)| !self.complete.contains(order));
        changes
    }
}

/// Returns whether some of these numbers add up to this sum.
fn adds_up(numbers: &[i64], sum: i64) -> bool {
    let sums = numbers
        .iter()
        .fold(BTreeSet::from([0]), |sums, number| sums.iter().flat_map(|sum| [*sum, sum + number]).collect());
    sums.contains(&sum)
}

#[test]
fn of_twelve_buyers_of_the_last_unit_one_gets_it() {
    let fixture = Fixture::open();
    let mut callers: Vec<_> = (0..12).map(|_| Caller::of(&fixture.client)).collect();
    for _ in 0..40 {
        let pet = fixture.pet();
        let requests: Vec<_> = (0..12).map(|_| Action::Order(1).request(pet)).collect();
        let answers = at_once(&mut callers, &requests);
        assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
        for refused in answers.iter().filter(|answer| answer.status != 201) {
            assert_eq!(refused.outcome(), (409, "pet_not_available".to_owned()));
        }
        assert_eq!(fixture.state(pet), ("pending".to_owned(), 0));
    }
}

#[test]
fn of_twelve_cancellations_of_one_order_one_gives_the_units_back() {
    let fixture = Fixture::open();
    let mut callers: Vec<_> = (0..12).map(|_| Caller::of(&fixture.client)).collect();
    for _ in 0..40 {
        let pet = fixture.pet_of(5);
        let order = fixture.order(pet, 3);
        let requests: Vec<_> = (0..12).map(|_| Action::Cancel(order).request(pet)).collect();
        let answers = at_once(&mut callers, &requests);
        let count = |wanted| answers.iter().filter(|answer| answer.status == wanted).count();
        assert_eq!((count(204), count(404)), (1, 11));
        assert_eq!(fixture.state(pet), ("available".to_owned(), 5));
    }
}

#[test]
fn in_200_rounds_of_60_at_once_every_unit_is_accounted_for() {
    let fixture = Fixture::open();
    let pet = fixture.pet_of(30);
    let item = fixture.client.get(&format!("/v1/inventory/{pet}"));
    let version_now = version(&item);
    let mut ledger = Ledger { pet, free: 30, version: version_now, open: vec![], complete: BTreeSet::new() };
    let mut callers: Vec<_> = (0..60).map(|_| Caller::of(&fixture.client)).collect();
    let mut numbers = Numbers(7);
    for round in 0..200 {
        let sets = round % 3 == 0;
        let actions = ledger.actions(&mut numbers, sets);
        let requests: Vec<_> = actions.iter().map(|action| action.request(ledger.pet)).collect();
        let answers = at_once(&mut callers, &requests);
        let completions =
            actions.iter().filter(|action| matches!(action, Action::Complete(_))).count() as u64;
        let changes = ledger.record(&actions, &answers);

        let item = fixture.client.get(&format!("/v1/inventory/{pet}"));
        let free = item.json()["quantity"].as_i64().unwrap();
        let set = actions
            .iter()
            .find_map(|action| if let Action::Set(units) = action { Some(*units) } else { None });
        match set {
            None => assert_eq!(free, ledger.free + changes.iter().sum::<i64>(), "round {round}"),
            // Setting the stock overwrites the earlier changes of this round, but not the later ones. So some of the
            // round's changes must add up to the difference between the present stock and the stock that was set.
            Some(units) => {
                let after = free - i64::try_from(units).unwrap();
                assert!(adds_up(&changes, after), "round {round}: {units} set, {free} left, {changes:?}");
            }
        }
        // Each change raises the version of the item once. Completing an order changes the item only if the pet becomes
        // sold, and setting the stock to the present value changes nothing. So the number of versions has a lower and
        // an upper bound.
        let made = version(&item) - ledger.version;
        let counted = changes.len() as u64;
        let most = counted + completions + u64::from(sets);
        assert!((counted..=most).contains(&made), "round {round}: {made} versions, {counted} changes");

        let status = match (free, ledger.open.is_empty()) {
            (0, false) => "pending",
            (0, true) => "sold",
            _ => "available",
        };
        assert_eq!(fixture.state(pet), (status.to_owned(), u64::try_from(free).unwrap()), "round {round}");
        (ledger.free, ledger.version) = (free, version(&item));
    }
    let mut open: Vec<_> = ledger.open.iter().map(|(order, _)| *order).collect();
    open.sort_unstable();
    assert_eq!(all_orders(&fixture, "complete=false"), open);
    assert_eq!(all_orders(&fixture, "complete=true"), ledger.complete.into_iter().collect::<Vec<_>>());
}

/// The ids of all orders that a filter finds.
fn all_orders(fixture: &Fixture, filter: &str) -> Vec<u64> {
    let mut path = format!("/v1/store/orders?{filter}");
    let mut found = Vec::new();
    loop {
        let page = fixture.client.get(&path);
        found.extend(ids(&page));
        match page.link("next") {
            Some(next) => path = format!("/v1{}", next.split_once("/v1").unwrap().1),
            None => return found,
        }
    }
}

#[test]
fn of_sixty_orders_for_thirty_units_thirty_succeed() {
    let fixture = Fixture::open();
    let mut callers: Vec<_> = (0..60).map(|_| Caller::of(&fixture.client)).collect();
    for _ in 0..10 {
        let pet = fixture.pet_of(30);
        let actions: Vec<_> = (0..60)
            .map(|number| if number % 2 == 0 { Action::Order(1) } else { Action::Adjust(-1) })
            .collect();
        let requests: Vec<_> = actions.iter().map(|action| action.request(pet)).collect();
        let answers = at_once(&mut callers, &requests);
        assert_eq!(answers.iter().filter(|answer| answer.status < 300).count(), 30);
        assert_eq!(fixture.state(pet).1, 0);
    }
}
