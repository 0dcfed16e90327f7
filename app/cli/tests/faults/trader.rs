//! A client that trades on all nodes.

use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::load::{Known, Order, Records, Run, StockRead};
use crate::requests::{Connections, cancel, complete, place};
use crate::scene::PETS;

/// The pause of a client after each request.
pub(crate) const PAUSE: Duration = Duration::from_millis(4);

/// A small generator of random numbers (SplitMix64).
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// A client.
pub(crate) struct Trader<'r> {
    connections: Connections<'r>,
    random: Random,
    number: usize,
    pause: Duration,
    /// True once the changes that a failover may have lost were requested again.
    has_repeated: bool,
    records: Records,
}

impl<'r> Trader<'r> {
    /// A client that makes this pause after each request.
    pub(crate) fn new(run: &'r Run, number: usize, seed: u64, pause: Duration) -> Self {
        Self {
            connections: Connections::new(run, number),
            random: Random(seed.wrapping_add(number as u64)),
            number,
            pause,
            has_repeated: false,
            records: Records::default(),
        }
    }

    /// Sends requests until the run is over.
    pub(crate) fn trade(mut self) -> Records {
        while !self.connections.run.is_over() {
            self.step();
            sleep(self.pause);
        }
        self.records
    }

    fn step(&mut self) {
        let run = self.connections.run;
        if let (Some(loss), false) = (run.loss.get(), self.has_repeated) {
            self.has_repeated = true;
            let node = usize::try_from(self.random.below(run.ports.len() as u64)).unwrap();
            loss.repeat_changes(&mut self.connections, node, &mut self.records);
        }
        let may_be_lost = run.is_failing_over.load(Ordering::SeqCst);
        let count = self.records.orders.len() as u64;
        let node = usize::try_from(self.random.below(self.connections.run.ports.len() as u64)).unwrap();
        // Recent orders are of more interest than old ones.
        let recent = (count > 0 && !may_be_lost).then(|| {
            let age = self.random.below(count.min(20));
            usize::try_from(count - 1 - age).unwrap()
        });
        match (self.random.below(100), recent) {
            (90.., _) => self.read_stock(node),
            (0..50, _) | (_, None) => self.place(node),
            (50..65, Some(order)) => self.repeat(node, order),
            (65..73, Some(order)) => self.complete(node, order),
            (73..78, Some(order)) => self.cancel(node, order),
            (_, Some(order)) => self.read(node, order),
        }
    }

    fn place(&mut self, node: usize) {
        let order = Order {
            idempotency_key: format!("{}-{}", self.number, self.records.orders.len()),
            pet: self.random.below(PETS) + 1,
            units: self.random.below(3) + 1,
            id: None,
            body: None,
            placed: Known::Not,
            completed: Known::Not,
            cancelled: Known::Not,
        };
        self.records.orders.push(order);
        let order = self.records.orders.last_mut().expect("it was added");
        place(&mut self.connections, node, order);
    }

    /// Sends the request of an order once more. Its answer must be the first one.
    fn repeat(&mut self, node: usize, order: usize) {
        place(&mut self.connections, node, &mut self.records.orders[order]);
    }

    fn complete(&mut self, node: usize, order: usize) {
        let order = &mut self.records.orders[order];
        if order.id.is_some() && order.cancelled == Known::Not {
            complete(&mut self.connections, node, order);
        }
    }

    fn cancel(&mut self, node: usize, order: usize) {
        let order = &mut self.records.orders[order];
        if order.id.is_some() && order.completed == Known::Not && order.cancelled == Known::Not {
            cancel(&mut self.connections, node, order);
        }
    }

    /// Reads an order, which must be as its last answer said.
    fn read(&mut self, node: usize, order: usize) {
        let order = &self.records.orders[order];
        let Some(id) = order.id else { return };
        let Some(read) = self.connections.ask(node, "GET", &format!("/v1/store/orders/{id}"), "", "") else {
            return;
        };
        let body: Value = serde_json::from_str(&read.answer.body).unwrap_or_default();
        let is_same = body["petId"] == order.pet && body["quantity"] == order.units;
        let is_right = match (read.answer.status, order.cancelled, order.completed) {
            (404, cancelled, _) => cancelled != Known::Not,
            (200, Known::Made(..), _) => false,
            (200, _, Known::Not) => is_same && body["complete"] == false,
            (200, _, Known::Made(..)) => is_same && body["complete"] == true,
            (200, _, Known::Sent(_)) => is_same,
            _ => false,
        };
        if !is_right {
            let answer = &read.answer;
            self.connections.run.violation(format!("{} {} for {order:?}", answer.status, answer.body));
        }
    }

    fn read_stock(&mut self, node: usize) {
        let pet = self.random.below(PETS) + 1;
        let Some(read) = self.connections.ask(node, "GET", &format!("/v1/inventory/{pet}"), "", "") else {
            return;
        };
        let body: Value = serde_json::from_str(&read.answer.body).unwrap_or_default();
        let (Some(units), 200) = (body["quantity"].as_u64(), read.answer.status) else {
            let answer = &read.answer;
            self.connections.run.violation(format!("stock of {pet}: {} {}", answer.status, answer.body));
            return;
        };
        let (sent, answered) = (read.sent, read.answered);
        self.records.stock_reads.push(StockRead { pet, units, sent, answered });
    }
}
