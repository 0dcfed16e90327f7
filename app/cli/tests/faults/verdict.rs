//! The check of a run: nothing acknowledged is lost, nothing is done twice, and the events report every change in
//! order.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::load::{Known, Order, Records, Run, StockRead};
use crate::now;
use crate::requests::{Connections, cancel, complete, place};
use crate::scene::{PETS, STOCK};
use crate::tail::Seen;

/// The time limit for the requests that find out what was unknown.
const SETTLE_MAX: Duration = Duration::from_mins(1);

/// Sends each request whose outcome is unknown again, until its outcome is known. Returns the number of these requests.
pub(crate) fn settle(run: &Run, records: &mut [Records]) -> usize {
    let (until, mut count, mut node) = (now() + SETTLE_MAX, 0, 0);
    for (client, records) in records.iter_mut().enumerate() {
        let mut connections = Connections::new(run, client);
        for order in &mut records.orders {
            let is_unknown = |known: Known| matches!(known, Known::Sent(_));
            let unknown = [order.placed, order.completed, order.cancelled].map(is_unknown);
            count += unknown.iter().filter(|is_unknown| **is_unknown).count();
            let mut repeat = |send: fn(&mut Connections<'_>, usize, &mut Order) -> bool| {
                while !send(&mut connections, node, order) {
                    if now() > until {
                        run.violation(format!("the outcome of {order:?} is never known"));
                        return false;
                    }
                    node = (node + 1) % run.ports.len();
                }
                true
            };
            let sends = [place, complete, cancel];
            for (send, _) in sends.into_iter().zip(unknown).filter(|(_, is_unknown)| *is_unknown) {
                if !repeat(send) {
                    return count;
                }
            }
        }
    }
    count
}

/// Checks the shop and its events against the records of all clients, and what the readers have seen of the events. Returns the
/// events.
pub(crate) fn check(run: &Run, records: &[Records], tails: &[Vec<Seen>]) -> Vec<Value> {
    let orders: Vec<&Order> = records.iter().flat_map(|records| &records.orders).collect();
    let mut connections = Connections::new(run, 0);
    for node in 0..run.ports.len() {
        check_orders(run, &orders, &list(&mut connections, node, "/v1/store/orders?limit=100"));
        check_stock(run, &orders, &list(&mut connections, node, "/v1/inventory?limit=100"));
    }
    let events = list(&mut connections, 0, "/v1/events?sort=id&limit=100");
    let all: Vec<_> = events.iter().map(Seen::of).collect();
    for (number, tail) in tails.iter().enumerate() {
        if *tail != all {
            let place = tail.iter().zip(&all).take_while(|(one, other)| one == other).count();
            let (has, should) = (tail.get(place), all.get(place));
            run.violation(format!(
                "reader {number} saw {} of {} events; at {place} it has {has:?}, and the log {should:?}",
                tail.len(),
                all.len()
            ));
        }
    }
    let chains = check_events(run, &events);
    check_log_of_orders(run, &orders, &events);
    for read in records.iter().flat_map(|records| &records.stock_reads) {
        if !chains.get(&read.pet).is_some_and(|chain| chain.contains(&read.units)) {
            run.violation(format!("no event left this stock: {read:?}"));
        }
    }
    check_stock_reads(run, &orders, records.iter().flat_map(|records| &records.stock_reads));
    events
}

/// Returns all items of a list, page by page.
fn list(connections: &mut Connections<'_>, node: usize, path: &str) -> Vec<Value> {
    let (mut items, mut next) = (Vec::new(), Some(path.to_owned()));
    while let Some(page) = next {
        let Some(read) = connections.ask(node, "GET", &page, "", "") else {
            connections.run.violation(format!("{page} is refused by node {node} after the run"));
            return items;
        };
        let found: Result<Vec<Value>, _> = serde_json::from_str(&read.answer.body);
        let Ok(found) = found else {
            connections.run.violation(format!("{page}: {}", read.answer.body));
            return items;
        };
        items.extend(found);
        next = read.answer.next;
    }
    items
}

/// Checks that exactly the orders exist that were placed and not cancelled, as they were sent.
fn check_orders(run: &Run, orders: &[&Order], found: &[Value]) {
    let form = |id: u64, pet: u64, units: u64, complete: bool| (id, (pet, units, complete));
    let expected: BTreeMap<_, _> = orders
        .iter()
        .filter(|order| order.cancelled == Known::Not)
        .map(|order| form(order.id.unwrap_or(0), order.pet, order.units, order.completed != Known::Not))
        .collect();
    let number = |order: &Value, name: &str| order[name].as_u64().unwrap_or(0);
    let listed: BTreeMap<_, _> = found
        .iter()
        .map(|order| {
            let complete = order["complete"] == true;
            form(number(order, "id"), number(order, "petId"), number(order, "quantity"), complete)
        })
        .collect();
    let ids: BTreeSet<_> = orders.iter().map(|order| order.id).collect();
    if ids.len() != orders.len() {
        run.violation(format!("{} orders have {} ids", orders.len(), ids.len()));
    }
    for (id, order) in &expected {
        if listed.get(id) != Some(order) {
            run.violation(format!("order {id} was acknowledged as {order:?} and is {:?}", listed.get(id)));
        }
    }
    for (id, order) in listed.iter().filter(|(id, _)| !expected.contains_key(id)) {
        run.violation(format!("order {id} exists and no client has it: {order:?}"));
    }
}

/// Checks that each pet's units are free or in an order.
fn check_stock(run: &Run, orders: &[&Order], items: &[Value]) {
    for pet in 1..=PETS {
        let ordered = orders.iter().filter(|order| order.pet == pet && order.cancelled == Known::Not);
        let expected = STOCK - ordered.map(|order| order.units).sum::<u64>();
        let item = items.iter().find(|item| item["petId"] == pet);
        if item.is_none_or(|item| item["quantity"] != expected) {
            run.violation(format!("pet {pet} should have {expected} units: {item:?}"));
        }
    }
}

/// Checks that the events rise, and that each stock follows from the one before. Returns the stocks of each pet.
fn check_events(run: &Run, events: &[Value]) -> BTreeMap<u64, BTreeSet<u64>> {
    let mut ids = BTreeSet::new();
    let (mut sequence, mut stocks, mut chains) = (0, BTreeMap::<u64, u64>::new(), BTreeMap::new());
    for event in events {
        let number = event["sequence"].as_u64().unwrap_or(0);
        if number <= sequence || !ids.insert(event["id"].to_string()) {
            run.violation(format!("event {event} comes after {sequence}"));
        }
        sequence = number;
        if event["type"] != "inventory.updated" {
            continue;
        }
        let (data, previous) = (&event["data"], &event["previous"]);
        let (Some(pet), Some(after)) = (data["petId"].as_u64(), data["quantity"].as_u64()) else {
            run.violation(format!("an event without a stock: {event}"));
            continue;
        };
        let before = previous["quantity"].as_u64().unwrap_or(after);
        if stocks.insert(pet, after).is_some_and(|known| known != before) {
            run.violation(format!("the event before left another stock: {event}"));
        }
        chains.entry(pet).or_insert_with(BTreeSet::new).insert(after);
    }
    chains
}

/// Checks that each order has exactly its events, and that they follow the times of the requests.
fn check_log_of_orders(run: &Run, orders: &[&Order], events: &[Value]) {
    let mut found: BTreeMap<(u64, &str), Vec<u64>> = BTreeMap::new();
    for event in events {
        let kind = event["type"].as_str().unwrap_or_default();
        if let (true, Some(id)) = (kind.starts_with("order."), event["data"]["id"].as_u64()) {
            found.entry((id, kind)).or_default().push(event["sequence"].as_u64().unwrap_or(0));
        }
    }
    // The times of each change, by its place in the log.
    let mut changes = Vec::new();
    for order in orders {
        let id = order.id.unwrap_or(0);
        let kinds = [
            ("order.placed", order.placed),
            ("order.completed", order.completed),
            ("order.cancelled", order.cancelled),
        ];
        for (kind, known) in kinds {
            let places = found.remove(&(id, kind)).unwrap_or_default();
            match (known, &places[..]) {
                (Known::Made(sent, answered), [place]) => changes.push((*place, sent, answered)),
                (Known::Not, []) => {}
                _ => run.violation(format!("{} events {kind} of {order:?}", places.len())),
            }
        }
    }
    for ((id, kind), places) in found {
        run.violation(format!("no client has caused the events {kind} {places:?} of order {id}"));
    }
    changes.sort_by_key(|(place, _, _)| *place);
    let mut latest_sent = None;
    for (place, sent, answered) in changes {
        if latest_sent.is_some_and(|latest| latest > answered) {
            run.violation(format!("event {place} was answered before an earlier one was sent"));
        }
        latest_sent = latest_sent.max(Some(sent));
    }
}

/// The changes of the units of one pet, by time.
#[derive(Default)]
struct Changes {
    taken_sent: Vec<(Instant, u64)>,
    taken_answered: Vec<(Instant, u64)>,
    returned_sent: Vec<(Instant, u64)>,
    returned_answered: Vec<(Instant, u64)>,
}

/// Checks that each stock that was read lies between what had certainly been ordered when the request was sent, and what
/// may have been ordered when it was answered.
fn check_stock_reads<'a>(run: &Run, orders: &[&Order], reads: impl Iterator<Item = &'a StockRead>) {
    let mut pets: BTreeMap<u64, Changes> = BTreeMap::new();
    for order in orders {
        let changes = pets.entry(order.pet).or_default();
        if let Known::Made(sent, answered) = order.placed {
            changes.taken_sent.push((sent, order.units));
            changes.taken_answered.push((answered, order.units));
        }
        if let Known::Made(sent, answered) = order.cancelled {
            changes.returned_sent.push((sent, order.units));
            changes.returned_answered.push((answered, order.units));
        }
    }
    for changes in pets.values_mut() {
        for times in [
            &mut changes.taken_sent,
            &mut changes.taken_answered,
            &mut changes.returned_sent,
            &mut changes.returned_answered,
        ] {
            times.sort_unstable();
            let mut sum = 0;
            for (_, units) in times {
                sum += *units;
                *units = sum;
            }
        }
    }
    // The units of all changes before a time, from sums.
    let before = |sums: &[(Instant, u64)], time: Instant| {
        let count = sums.partition_point(|(at, _)| *at < time);
        count.checked_sub(1).map_or(0, |last| sums[last].1)
    };
    for read in reads {
        let Some(changes) = pets.get(&read.pet) else { continue };
        let lowest = STOCK + before(&changes.returned_answered, read.sent)
            - before(&changes.taken_sent, read.answered);
        let highest = STOCK + before(&changes.returned_sent, read.answered)
            - before(&changes.taken_answered, read.sent);
        if !(lowest..=highest).contains(&read.units) {
            run.violation(format!("{read:?} is not between {lowest} and {highest}"));
        }
    }
}
