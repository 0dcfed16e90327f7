use std::sync::atomic::AtomicU64;

use super::*;

/// A machine's clock, in milliseconds since 1970.
struct Machine(AtomicU64);

impl Machine {
    fn set(&self, millis: u64) {
        self.0.store(millis, Ordering::Relaxed);
    }
}

impl Clock for Machine {
    fn now(&self) -> Timestamp {
        Timestamp::EPOCH.plus(Duration::from_millis(self.0.load(Ordering::Relaxed)))
    }
}

const START: u64 = 1_000_000_000;
const HOUR: u64 = 3_600_000;

/// A clock of a database and a machine that both show [`START`].
fn clock() -> (DatabaseClock, Arc<Machine>) {
    let clock = DatabaseClock::new(Instant::now());
    let machine = Arc::new(Machine(AtomicU64::new(START)));
    show(&clock, START);
    clock.set_machine(Arc::clone(&machine) as _);
    (clock, machine)
}

/// The database shows this time now.
fn show(clock: &DatabaseClock, millis: u64) {
    let now = Instant::now();
    clock.measured(now, now, i64::try_from(millis * 1_000).unwrap());
}

fn shown(clock: &DatabaseClock) -> u64 {
    u64::try_from(clock.now().as_millis()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn steps_of_the_machine_do_not_matter() {
    let (clock, machine) = clock();
    for step in [25 * HOUR, 0] {
        machine.set(START + step);
        assert_eq!(shown(&clock), START, "before the next measurement");
        show(&clock, START);
        assert_eq!(shown(&clock), START);
        assert_eq!(clock.may_drop(), step == 0, "{step}");
    }
    tokio::time::advance(Duration::from_secs(7)).await;
    assert_eq!(shown(&clock), START + 7_000);
}

#[tokio::test(start_paused = true)]
async fn a_step_of_the_database_alone_lets_nothing_expire() {
    let (clock, _machine) = clock();
    for step in [11 * 60_000, 25 * HOUR] {
        show(&clock, START + step);
        let behind = -i64::try_from(step).unwrap();
        clock.compared(behind, &[behind + 30]);
        assert_eq!((shown(&clock), clock.may_drop(), clock.check()), (START, false, Ok(())));
        let fault = clock.fault().expect("it differs");
        assert_eq!((fault.kind, fault.ahead_ms), (ClockFaultKind::Disputed, behind));
    }
    show(&clock, START);
    clock.compared(0, &[0]);
    assert!(clock.may_drop() && clock.fault().is_none());
    assert!(
        !clock.may_drop_tokens(Instant::now()),
        "commits meanwhile have times of the clock that was wrong"
    );
    assert!(clock.may_drop_tokens(Instant::now() + STEADY_FOR));
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_found_wrong_follows_the_database_and_is_not_ready() {
    let (clock, machine) = clock();
    machine.set(START + 310_000);
    show(&clock, START);
    clock.compared(310_000, &[12]);
    assert!(clock.is_wrong() && !clock.may_drop());
    let refused = clock.check().expect_err("the clock is wrong").report();
    assert!(refused.contains("the clock of this node is 310.0 s ahead of that of PostgreSQL"), "{refused}");
    show(&clock, START + HOUR);
    assert_eq!(shown(&clock), START + HOUR);
    // The other node leaves.
    clock.compared(310_000 - i64::try_from(HOUR).unwrap(), &[]);
    assert!(clock.is_wrong());
    machine.set(START + HOUR);
    show(&clock, START + HOUR);
    clock.compared(0, &[]);
    assert!(!clock.is_wrong() && clock.may_drop());
    assert!(!clock.may_drop_tokens(Instant::now()), "the time has stepped just now");
    assert!(clock.may_drop_tokens(Instant::now() + STEADY_FOR));
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_was_suspended_takes_the_time_of_the_database() {
    let (clock, machine) = clock();
    machine.set(START + HOUR);
    show(&clock, START + HOUR);
    assert_eq!(shown(&clock), START + HOUR);
    assert!(clock.may_drop() && !clock.may_drop_tokens(Instant::now()));
}
