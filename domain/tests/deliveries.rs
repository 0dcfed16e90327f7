//! The rule of the dispatcher: tables of cases. `requested` has those of redeliveries and replays, `histories` random histories
//! against a model.

// A file beside this one would be compiled as a test binary.
#[path = "deliveries/histories.rs"]
mod histories;
#[path = "deliveries/requested.rs"]
mod requested;

use std::time::Duration;

use petstore_domain::*;

fn at(seconds: u64) -> Timestamp {
    Timestamp::EPOCH.plus(Duration::from_secs(seconds))
}

fn position(number: u64) -> Position {
    Position::new(number).unwrap()
}

fn rules(ordering: DeliveryOrder) -> DeliveryRules {
    DeliveryRules { webhook: WebhookId::from_bits(3), ordering, has_jitter: false }
}

const RELAXED: DeliveryOrder = DeliveryOrder::Relaxed;

/// Progress at the start of a log, and its rules.
struct Case {
    progress: Progress,
    rules: DeliveryRules,
}

impl Case {
    fn new(ordering: DeliveryOrder) -> Self {
        Self { progress: Progress::new(1, 7, Position::START), rules: rules(ordering) }
    }

    fn step(&mut self, input: DispatchInput<'_>, now: Timestamp) -> Vec<DispatchCommand> {
        dispatch_step(&mut self.progress, &self.rules, input, now)
    }

    fn log(&mut self, positions: impl IntoIterator<Item = u64>, scanned: u64, now: Timestamp) {
        let matching: Vec<Position> = positions.into_iter().map(position).collect();
        self.step(DispatchInput::Log { matching: &matching, scanned: position(scanned) }, now);
    }

    /// The positions whose attempts begin.
    fn tick(&mut self, now: Timestamp) -> Vec<(u64, u32)> {
        let commands = self.step(DispatchInput::Tick { attempts_max: usize::MAX }, now);
        let sent = commands.into_iter().filter_map(|command| match command {
            DispatchCommand::Send { position, attempt, .. } => Some((position.get(), attempt)),
            _ => None,
        });
        sent.collect()
    }

    fn end(&mut self, number: u64, result: AttemptResult, now: Timestamp) -> Vec<DispatchCommand> {
        self.step(DispatchInput::Outcome { position: position(number), result }, now)
    }
}

#[test]
fn first_attempts_begin_in_order_and_eight_are_in_flight() {
    let mut case = Case::new(RELAXED);
    case.log(1..=20, 20, at(0));
    assert_eq!(case.tick(at(0)), (1..=8).map(|number| (number, 1)).collect::<Vec<_>>());
    assert_eq!(case.tick(at(0)), []);
    case.end(3, AttemptResult::Delivered, at(1));
    assert_eq!(case.tick(at(1)), [(9, 1)]);
    assert_eq!(case.progress.settled(), position(0));
    case.end(1, AttemptResult::Delivered, at(1));
    case.end(2, AttemptResult::Delivered, at(1));
    assert_eq!(case.progress.settled(), position(3));
}

#[test]
fn a_clock_that_steps_back_delays_no_first_attempt() {
    for ordering in [RELAXED, DeliveryOrder::Strict] {
        let mut case = Case::new(ordering);
        case.log(1..=2, 2, at(3_600));
        assert_eq!(case.tick(at(0)).first(), Some(&(1, 1)), "{ordering:?}");
        case.end(1, AttemptResult::Delivered, at(0));
        case.step(DispatchInput::Redeliver { position: position(1), number: 1 }, at(3_600));
        assert_eq!(case.tick(at(0)).first(), Some(&(1, 1)), "{ordering:?}");
    }
}

#[test]
fn a_clock_that_is_set_back_makes_a_retry_wait_once_more_and_no_longer() {
    for ordering in [RELAXED, DeliveryOrder::Strict] {
        for (asked, wait) in [(None, 5), (Some(Duration::from_mins(10)), 600)] {
            let mut case = Case::new(ordering);
            case.log([1], 1, at(40_000));
            case.tick(at(40_000));
            case.end(1, AttemptResult::Failed(asked), at(40_000));
            let commands = case.step(DispatchInput::Tick { attempts_max: 0 }, at(100));
            assert_eq!(commands, [DispatchCommand::WakeAt(at(100 + wait))], "{ordering:?}, {asked:?}");
            assert_eq!(case.tick(at(99 + wait)), [], "{ordering:?}, {asked:?}");
            assert_eq!(case.tick(at(100 + wait)), [(1, 2)], "{ordering:?}, {asked:?}");
        }
    }
}

#[test]
fn a_failed_event_gets_eight_attempts_by_the_schedule() {
    let mut case = Case::new(RELAXED);
    case.log([1], 1, at(0));
    let mut now = at(0);
    for attempt in 1..=ATTEMPTS_MAX {
        assert_eq!(case.tick(now), [(1, attempt)]);
        let commands = case.end(1, AttemptResult::Failed(None), now);
        let Some(delay) = retry_delay(attempt) else {
            let status = DeliveryStatus::Failed;
            assert_eq!(commands, [DispatchCommand::Settle { position: position(1), status }]);
            break;
        };
        let due = now.plus(delay);
        assert_eq!(
            commands,
            [DispatchCommand::Retry { position: position(1), due }, DispatchCommand::WakeAt(due)]
        );
        assert_eq!(case.tick(due.minus(Duration::from_millis(1))), []);
        now = due;
    }
    assert!(!case.progress.is_stopped, "27 hours are less than 5 days");
    assert_eq!(case.progress.settled(), position(1));
}

#[test]
fn retry_after_delays_an_attempt_up_to_an_hour_and_never_hastens_it() {
    let cases = [(0, 5), (4, 5), (60, 60), (3_600, 3_600), (86_400, 3_600)];
    for (wait, delay) in cases {
        let mut case = Case::new(RELAXED);
        case.log([1], 1, at(0));
        case.tick(at(0));
        let commands = case.end(1, AttemptResult::Failed(Some(Duration::from_secs(wait))), at(0));
        assert!(commands.contains(&DispatchCommand::WakeAt(at(delay))), "{wait}: {commands:?}");
    }
}

#[test]
fn retry_after_pauses_the_webhook_for_all_events_but_not_for_a_client_that_asks() {
    let wait = |seconds: u64| AttemptResult::Failed(Some(Duration::from_secs(seconds)));
    for ordering in [RELAXED, DeliveryOrder::Strict] {
        let mut case = Case::new(ordering);
        case.log(1..=20, 20, at(0));
        let first = case.tick(at(0));
        let commands = case.end(1, wait(60), at(0));
        assert!(commands.contains(&DispatchCommand::WakeAt(at(60))), "{commands:?}");
        // Attempts in flight may succeed, or ask for a shorter pause. Neither ends the longer one.
        for (number, _) in first.into_iter().skip(1) {
            let result = if number == 2 { AttemptResult::Delivered } else { wait(10) };
            case.end(number, result, at(1));
        }
        case.log(21..=22, 22, at(30));
        assert_eq!(case.tick(at(59)), []);
        // Another place in the log has the same receiver.
        let after = EventId { epoch: 7, position: position(22) };
        let mut replayed = Case { progress: case.progress.clone(), rules: case.rules };
        replayed.progress.follow(&DeliveryRun { number: 2, after: Some(after) });
        replayed.log([23], 23, at(30));
        assert_eq!((replayed.tick(at(59)), replayed.tick(at(60))), (vec![], vec![(23, 1)]));
        case.step(DispatchInput::Redeliver { position: position(1), number: 1 }, at(59));
        assert_eq!(case.tick(at(59)), [(1, 2)]);
        case.end(1, AttemptResult::Delivered, at(59));
        assert_eq!(case.tick(at(59)), []);
        assert_ne!(case.tick(at(60)), []);
    }
}

#[test]
fn a_pause_is_not_longer_after_the_clock_was_set_back() {
    let mut case = Case::new(RELAXED);
    case.log(1..=2, 2, at(10_000));
    assert_eq!(case.tick(at(10_000)).len(), 2);
    case.end(1, AttemptResult::Failed(Some(Duration::from_mins(1))), at(10_000));
    case.end(2, AttemptResult::Failed(None), at(10_000));
    assert_eq!(case.tick(at(5_000)), []);
    assert_eq!(case.tick(at(5_060)), [(2, 2), (1, 2)]);
}

#[test]
fn a_webhook_whose_attempts_fail_in_a_row_pauses_longer_and_longer() {
    let mut case = Case::new(RELAXED);
    case.rules.has_jitter = true;
    case.log(1..=100, 100, at(0));
    let mut times = Vec::new();
    for second in 0..200 {
        for (number, _) in case.tick(at(second)) {
            times.push(second);
            case.end(number, AttemptResult::Failed(None), at(second));
        }
    }
    // Eight in flight at first, of which four failed after the fourth.
    assert_eq!(times[..12], [0, 0, 0, 0, 0, 0, 0, 0, 8, 24, 40, 56]);
    assert_eq!(times.len(), 8 + 1 + 11, "{times:?}");
    // One success ends it.
    case.log([101], 101, at(201));
    let (number, _) = case.tick(at(201))[0];
    case.end(number, AttemptResult::Delivered, at(201));
    assert_eq!(case.tick(at(201)).len(), IN_FLIGHT_MAX);
}

#[test]
fn only_429_and_503_have_a_wait_and_410_means_gone() {
    let outcome = |status, wait: Option<u64>| AttemptOutcome {
        duration: Duration::ZERO,
        error: Some(AttemptError::Status),
        answer: Some(Box::new(ReceiverAnswer {
            status,
            wait: wait.map(Duration::from_secs),
            ..ReceiverAnswer::default()
        })),
    };
    let wait = Some(Duration::from_secs(9));
    let cases = [
        (429, AttemptResult::Failed(wait)),
        (503, AttemptResult::Failed(wait)),
        (500, AttemptResult::Failed(None)),
        (410, AttemptResult::Gone),
    ];
    for (status, result) in cases {
        assert_eq!(AttemptResult::from(&outcome(status, Some(9))), result, "{status}");
    }
    let delivered = AttemptOutcome { error: None, ..outcome(200, None) };
    assert_eq!(AttemptResult::from(&delivered), AttemptResult::Delivered);
}

#[test]
fn after_five_failures_in_a_row_one_attempt_at_a_time_until_a_success() {
    let mut case = Case::new(RELAXED);
    case.log(1..=20, 20, at(0));
    case.tick(at(0));
    for number in 1..=8 {
        case.end(number, AttemptResult::Failed(None), at(0));
    }
    assert_eq!(case.tick(at(0)), [(9, 1)]);
    assert_eq!(case.tick(at(0)), []);
    case.end(9, AttemptResult::Delivered, at(0));
    assert_eq!(case.tick(at(0)).len(), 8);
}

#[test]
fn strict_order_sends_one_at_a_time_and_stops_at_an_event_that_fails() {
    let mut case = Case::new(DeliveryOrder::Strict);
    case.log([4, 6], 9, at(0));
    let mut now = at(0);
    for attempt in 1..=ATTEMPTS_MAX {
        assert_eq!(case.tick(now), [(4, attempt)]);
        assert_eq!(case.tick(now), []);
        let commands = case.end(4, AttemptResult::Failed(None), now);
        match retry_delay(attempt) {
            Some(delay) => now = now.plus(delay),
            None => assert_eq!(commands, [DispatchCommand::Disable(DisabledReason::Exhausted)]),
        }
    }
    assert_eq!(case.tick(now.plus(Duration::from_hours(99))), []);
    // The event is the first one again.
    case.progress.follow(&DeliveryRun { number: 2, after: None });
    assert_eq!(case.tick(now), [(4, 1)]);
    case.end(4, AttemptResult::Delivered, now);
    assert_eq!(case.tick(now), [(6, 1)]);
}

#[test]
fn a_webhook_is_disabled_after_five_days_without_a_success_but_only_at_a_last_attempt() {
    // The first event fails on day 0, the second one begins on day 4 and ends on day 5.
    let day = |days: u64| at(days * 24 * 3_600);
    let run = |success_between: bool| {
        let mut case = Case::new(RELAXED);
        let mut all = Vec::new();
        for (number, start) in [(1, day(0)), (2, day(4))] {
            if success_between && number == 2 {
                case.log([9], 9, start);
                case.tick(start);
                case.end(9, AttemptResult::Delivered, start);
                case.progress.scanned = position(1);
            }
            case.log([number], number, start);
            let mut now = start;
            for attempt in 1..=ATTEMPTS_MAX {
                case.tick(now);
                all.extend(case.end(number, AttemptResult::Failed(None), now));
                now = now.plus(retry_delay(attempt).unwrap_or_default());
            }
        }
        all.contains(&DispatchCommand::Disable(DisabledReason::Failing))
    };
    assert!(run(false));
    assert!(!run(true));
}

#[test]
fn gone_stops_at_once_and_keeps_the_event() {
    let mut case = Case::new(RELAXED);
    case.log([1, 2], 2, at(0));
    case.tick(at(0));
    let commands = case.end(1, AttemptResult::Gone, at(0));
    assert!(commands.contains(&DispatchCommand::Disable(DisabledReason::Gone)), "{commands:?}");
    assert_eq!(case.tick(at(999_999)), []);
    case.end(2, AttemptResult::Delivered, at(1));
    assert_eq!(case.progress.settled(), position(0));
}

#[test]
fn an_event_whose_attempt_was_dropped_delays_no_other_one() {
    for is_manual in [false, true] {
        let mut case = Case::new(RELAXED);
        // One attempt at a time.
        case.progress.failures = FAILURES_MAX;
        case.log(1..=2, 2, at(0));
        if is_manual {
            case.step(DispatchInput::Redeliver { position: position(1), number: 1 }, at(0));
        }
        assert_eq!(case.tick(at(0)), [(1, 1)]);
        let trigger = if is_manual { AttemptTrigger::Manual } else { AttemptTrigger::Schedule };
        let pause = Duration::from_secs(10);
        case.step(DispatchInput::Dropped { position: position(1), trigger, pause }, at(0));
        assert_eq!(case.tick(at(0)), [(2, 1)]);
        let commands = case.end(2, AttemptResult::Delivered, at(1));
        assert!(commands.contains(&DispatchCommand::WakeAt(at(10))), "{commands:?}");
        assert_eq!((case.tick(at(9)), case.tick(at(10))), (vec![], vec![(1, 1)]));
        // A clock that steps back does not prolong the pause.
        case.step(DispatchInput::Dropped { position: position(1), trigger, pause }, at(1_000));
        assert_eq!(case.tick(at(510)), []);
        assert_eq!(case.tick(at(520)), [(1, 1)]);
    }
}

#[test]
fn no_first_attempt_begins_while_a_thousand_wait_for_a_retry() {
    let mut case = Case::new(RELAXED);
    let mut next = 1;
    while case.progress.pending.len() < RETRIES_MAX {
        case.log(next..next + 50, next + 49, at(0));
        next += 50;
        loop {
            let sent = case.tick(at(0));
            if sent.is_empty() {
                break;
            }
            for (number, _) in sent {
                case.end(number, AttemptResult::Failed(None), at(0));
            }
        }
    }
    assert_eq!(case.progress.room(), 0);
    case.log([next], next, at(0));
    assert_eq!(case.tick(at(0)), []);
    assert_eq!(case.tick(at(5)), [(1, 2)], "retries go on");
}
