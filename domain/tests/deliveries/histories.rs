//! Random histories of deliveries against a model.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use petstore_domain::*;

use super::{Case, RELAXED, at, position};

/// A small generator of random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (number ^ (number >> 31)) % bound
    }
}

/// The state that a history must have, by its own rules.
#[derive(Default)]
struct Model {
    /// The events that were given, and are neither delivered nor failed, with the number of failed attempts and the earliest
    /// time of the next one.
    open: BTreeMap<u64, (u32, Timestamp)>,
    /// The time that each of them waits from its last failed attempt.
    waits: BTreeMap<u64, Duration>,
    in_flight: BTreeSet<u64>,
    settled: BTreeSet<u64>,
    /// The last event whose first attempt has begun.
    last_first: u64,
    failures: u32,
    stopped: bool,
    /// The ends of the pause that the receiver asked for and of the pause between failures, each with its length.
    asked: Option<(Timestamp, Duration)>,
    rest: Option<(Timestamp, Duration)>,
}

/// Runs one random history and checks each order against the model.
fn run_history(seed: u64) {
    let mut random = Random(seed);
    let ordering = if random.below(2) == 0 { DeliveryOrder::Strict } else { RELAXED };
    let mut case = Case::new(ordering);
    case.rules.has_jitter = true;
    let mut model = Model::default();
    let (mut now, mut end) = (at(100_000_000), 0_u64);
    for _ in 0..40 {
        match random.below(5) {
            0 => {
                let room = case.progress.room() as u64;
                let given: Vec<u64> =
                    (0..random.below(12).min(room)).map(|number| end + 1 + number * 2).collect();
                end = given.last().copied().unwrap_or(end) + random.below(3);
                model.open.extend(given.iter().map(|number| (*number, (0, now))));
                case.log(given, end, now);
            }
            1 | 2 => {
                let most = usize::try_from(random.below(12)).unwrap();
                let orders = case.step(DispatchInput::Tick { attempts_max: most }, now);
                check_sends(seed, &case, &mut model, &orders, now);
            }
            3 => {
                let Some(number) = pick(&mut random, &model.in_flight) else { continue };
                let result = match random.below(12) {
                    0..5 => AttemptResult::Delivered,
                    5 => AttemptResult::Failed(Some(Duration::from_secs(random.below(9_000)))),
                    6 if random.below(8) == 0 => AttemptResult::Gone,
                    _ => AttemptResult::Failed(None),
                };
                let orders = case.end(number, result, now);
                check_end(seed, &mut model, number, result, &orders, now, ordering);
            }
            _ => {
                let pace =
                    Duration::from_secs([1, 10, 400, 40_000][usize::try_from(random.below(4)).unwrap()]);
                if random.below(4) == 0 {
                    now = set_back(seed, &mut case, &mut model, now.minus(pace));
                } else {
                    now = now.plus(pace);
                }
            }
        }
        let pending: BTreeSet<u64> =
            case.progress.pending.iter().map(|delivery| delivery.position.get()).collect();
        let open: BTreeSet<u64> = model.open.keys().copied().collect();
        assert_eq!(pending, open, "seed {seed}: each event is settled or pending");
        assert!(case.progress.in_flight() <= IN_FLIGHT_MAX, "seed {seed}");
    }
}

/// Sets the clock back. A retry then waits as long as it had to, from now, or less.
fn set_back(seed: u64, case: &mut Case, model: &mut Model, now: Timestamp) -> Timestamp {
    for (number, (_, earliest)) in &mut model.open {
        let wait = model.waits.get(number).copied().unwrap_or_default();
        *earliest = (*earliest).min(now.plus(wait));
    }
    for (end, length) in model.asked.iter_mut().chain(&mut model.rest) {
        *end = (*end).min(now.plus(*length));
    }
    case.step(DispatchInput::Tick { attempts_max: 0 }, now);
    for delivery in &case.progress.pending {
        let (failed, earliest) = model.open[&delivery.position.get()];
        let due = if failed == 0 { Timestamp::MIN } else { earliest };
        assert_eq!(delivery.due, due, "seed {seed}: {delivery:?}");
    }
    now
}

fn pick(random: &mut Random, among: &BTreeSet<u64>) -> Option<u64> {
    let count = among.len() as u64;
    if count == 0 {
        return None;
    }
    among.iter().nth(usize::try_from(random.below(count)).unwrap()).copied()
}

fn check_sends(seed: u64, case: &Case, model: &mut Model, orders: &[DispatchCommand], now: Timestamp) {
    for order in orders {
        let DispatchCommand::Send { position, attempt, .. } = order else { continue };
        let number = position.get();
        assert!(!model.stopped, "seed {seed}: nothing is sent after a stop");
        let (failed, earliest) = model.open[&number];
        assert_eq!(*attempt, failed + 1, "seed {seed}");
        assert!(now >= earliest, "seed {seed}: not before the schedule");
        for (end, _) in model.asked.iter().chain(&model.rest) {
            assert!(now >= *end, "seed {seed}: not in a pause");
        }
        assert!(model.in_flight.insert(number), "seed {seed}: one attempt at a time for each event");
        let window = match case.rules.ordering {
            DeliveryOrder::Strict => 1,
            DeliveryOrder::Relaxed if model.failures >= FAILURES_MAX => 1,
            DeliveryOrder::Relaxed => IN_FLIGHT_MAX,
        };
        assert!(model.in_flight.len() <= window, "seed {seed}: within the window");
        if failed == 0 {
            assert!(number > model.last_first, "seed {seed}: first attempts begin in order");
            model.last_first = number;
        }
        if case.rules.ordering == DeliveryOrder::Strict {
            let first = model.open.keys().next().copied();
            assert_eq!(first, Some(number), "seed {seed}: none is skipped");
        }
    }
}

fn check_end(
    seed: u64,
    model: &mut Model,
    number: u64,
    result: AttemptResult,
    orders: &[DispatchCommand],
    now: Timestamp,
    ordering: DeliveryOrder,
) {
    model.in_flight.remove(&number);
    let settled = |status| DispatchCommand::Settle { position: position(number), status };
    if result == AttemptResult::Delivered {
        (model.failures, model.rest) = (0, None);
        model.open.remove(&number);
        assert!(model.settled.insert(number) && orders.contains(&settled(DeliveryStatus::Delivered)));
        return;
    }
    model.failures += 1;
    if let AttemptResult::Failed(Some(wait)) = result {
        let (end, length) = (now.plus(wait.min(RETRY_AFTER_MAX)), wait.min(RETRY_AFTER_MAX));
        if !wait.is_zero() && model.asked.is_none_or(|(longest, _)| longest < end) {
            model.asked = Some((end, length));
        }
    }
    let doublings = model.failures.checked_sub(FAILURES_MAX);
    let rest = doublings.map(|doublings| Duration::from_secs(1 << doublings.min(4)));
    model.rest = rest.map(|rest| (now.plus(rest), rest));
    let failed = model.open[&number].0 + 1;
    match retry_delay(failed) {
        Some(delay) => {
            let wait = if let AttemptResult::Failed(Some(wait)) = result { wait } else { Duration::ZERO };
            let earliest = (delay * 4 / 5).max(wait.min(RETRY_AFTER_MAX));
            let latest = (delay * 6 / 5).max(wait.min(RETRY_AFTER_MAX));
            let due = orders.iter().find_map(|order| match order {
                DispatchCommand::Retry { due, .. } => Some(*due),
                _ => None,
            });
            let due = due.unwrap_or_else(|| panic!("seed {seed}: {orders:?}"));
            assert!((earliest..=latest).contains(&due.since(now)), "seed {seed}: the schedule is kept");
            model.open.insert(number, (failed, due));
            model.waits.insert(number, due.since(now));
        }
        None if ordering == DeliveryOrder::Strict => {
            assert!(orders.contains(&DispatchCommand::Disable(DisabledReason::Exhausted)), "seed {seed}");
            model.open.insert(number, (failed, now));
            model.waits.remove(&number);
        }
        None => {
            model.open.remove(&number);
            assert!(model.settled.insert(number) && orders.contains(&settled(DeliveryStatus::Failed)));
        }
    }
    model.stopped |= orders.iter().any(|order| matches!(order, DispatchCommand::Disable(_)));
}

/// The number of histories; `PETSTORE_DELIVERY_HISTORIES` sets another one, such as a million.
fn histories() -> u64 {
    std::env::var("PETSTORE_DELIVERY_HISTORIES").ok().and_then(|text| text.parse().ok()).unwrap_or(20_000)
}

#[test]
fn random_histories_keep_the_rules() {
    for seed in 0..histories() {
        run_history(seed);
    }
}
