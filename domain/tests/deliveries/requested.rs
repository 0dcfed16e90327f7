//! Deliveries that an account asks for: redeliveries of single events, and replays.

use std::time::Duration;

use petstore_domain::*;

use super::{Case, RELAXED, at, position};

#[test]
fn a_redelivery_is_sent_once_whether_the_event_was_delivered_or_not() {
    let mut case = Case::new(RELAXED);
    case.log([1, 2], 5, at(0));
    case.tick(at(0));
    case.end(1, AttemptResult::Delivered, at(0));
    case.end(2, AttemptResult::Failed(None), at(0));
    for (place, number) in [(1, 1), (2, 2), (9, 3)] {
        case.step(DispatchInput::Redeliver { position: position(place), number }, at(1));
        // The same request once more.
        case.step(DispatchInput::Redeliver { position: position(place), number }, at(1));
    }
    let commands = case.step(DispatchInput::Tick { attempts_max: 9 }, at(1));
    let manual: Vec<u64> = commands
        .iter()
        .filter_map(|command| match command {
            DispatchCommand::Send { position, trigger: AttemptTrigger::Manual, .. } => Some(position.get()),
            _ => None,
        })
        .collect();
    assert_eq!(manual, [1, 2], "the event at 9 has not been read yet, and is delivered anyway");
}

#[test]
fn a_redelivery_whose_attempt_was_dropped_stays_one() {
    let mut case = Case::new(RELAXED);
    case.log([1], 1, at(0));
    case.tick(at(0));
    case.end(1, AttemptResult::Failed(Some(Duration::from_mins(10))), at(0));
    case.step(DispatchInput::Redeliver { position: position(1), number: 1 }, at(1));
    assert_eq!(case.tick(at(1)), [(1, 2)]);
    let trigger = AttemptTrigger::Manual;
    let pause = Duration::from_secs(8);
    case.step(DispatchInput::Dropped { position: position(1), trigger, pause }, at(1));
    let commands = case.step(DispatchInput::Tick { attempts_max: 1 }, at(9));
    assert_eq!(commands, [DispatchCommand::Send { position: position(1), attempt: 2, trigger }]);
    // The attempts after it keep to the pause.
    case.end(1, AttemptResult::Failed(None), at(9));
    assert_eq!(case.tick(at(599)), []);
}

#[test]
fn a_replay_begins_elsewhere_and_forgets_what_was_pending() {
    let mut case = Case::new(RELAXED);
    case.log([1, 2], 9, at(0));
    let after = EventId { epoch: 7, position: position(4) };
    case.progress.follow(&DeliveryRun { number: 2, after: Some(after) });
    assert_eq!((case.progress.scanned, case.progress.pending.len()), (position(4), 0));
    let same = case.progress.clone();
    case.progress.follow(&DeliveryRun { number: 2, after: Some(after) });
    case.progress.follow(&DeliveryRun { number: 1, after: None });
    assert_eq!(case.progress, same);
}
