//! Every state of the writer, with every answer of the journal.

use std::sync::Arc;

use super::*;
use crate::backoff::pause_after;
use crate::new_shop::CheckedShop;

const LAST: BatchNumber = BatchNumber(7);

const WAITED: Duration = Duration::from_millis(300);

fn batch() -> PendingWrite {
    PendingWrite::Batch
}

fn import() -> PendingWrite {
    PendingWrite::Import { before: LastIds { pet: 3, ..LastIds::default() } }
}

fn reset() -> PendingWrite {
    let shop = NewShop::check(&CheckedShop::default(), Arc::from([]), LastIds::default(), 1).unwrap();
    PendingWrite::Reset(Box::new(shop))
}

fn in_doubt(pending: Option<PendingWrite>, error: StoreError) -> WriterState {
    WriterState::InDoubt { pending, error, waited: WAITED }
}

fn first_error() -> StoreError {
    StoreError::unavailable("no space")
}

/// A healthy or dead writer has nothing in doubt.
#[test]
fn a_state_without_doubt_stays_as_it_is() {
    for answer in [Ok(LAST), Ok(LAST.next()), Err(first_error())] {
        for state in [|| WriterState::Healthy, || WriterState::Dead] {
            assert_eq!(state().after_recovery(LAST, answer.clone()), (state(), None), "{answer:?}");
        }
    }
}

#[test]
fn the_batch_that_the_journal_holds_decides_what_becomes_of_the_write_in_doubt() {
    let pending: [fn() -> Option<PendingWrite>; 4] =
        [|| None, || Some(batch()), || Some(import()), || Some(reset())];
    for pending in pending {
        let recover = |held| in_doubt(pending(), first_error()).after_recovery(LAST, Ok(BatchNumber(held)));
        let lost = Recovery::Lost { pending: pending(), cause: first_error() };
        assert_eq!(recover(7), (WriterState::Healthy, Some(lost)));
        let impossible = |held: u64| {
            let error = StoreError::corrupt(format!("the journal was at batch 7 and is now at batch {held}"));
            (in_doubt(pending(), error.clone()), Some(Recovery::Failing(error)))
        };
        let next = match pending() {
            Some(write) => (WriterState::Healthy, Some(Recovery::Committed(write))),
            // Housekeeping writes no batch.
            None => impossible(8),
        };
        assert_eq!(recover(8), next);
        for held in [0, 6, 9, u64::MAX] {
            assert_eq!(recover(held), impossible(held));
        }
    }
}

#[test]
fn a_journal_that_fails_again_keeps_the_write_in_doubt_and_replaces_the_error() {
    let pending: [fn() -> Option<PendingWrite>; 4] =
        [|| None, || Some(batch()), || Some(import()), || Some(reset())];
    for pending in pending {
        for (error, reported) in [
            (StoreError::unavailable("read-only"), StoreError::unavailable("read-only")),
            (StoreError::corrupt("a page"), StoreError::corrupt("a page")),
            (StoreError::busy("locked"), StoreError::unavailable("locked")),
            (StoreError::indeterminate("sync"), StoreError::unavailable("sync")),
        ] {
            let recovered = in_doubt(pending(), first_error()).after_recovery(LAST, Err(error));
            let expected = in_doubt(pending(), reported.clone());
            assert_eq!(recovered, (expected, Some(Recovery::Failing(reported))));
        }
    }
}

#[test]
fn a_failure_is_reported_as_unavailable_or_as_damage() {
    for (error, reported) in [
        (StoreError::busy("locked"), StoreError::unavailable("locked")),
        (StoreError::corrupt("a page"), StoreError::corrupt("a page")),
    ] {
        let (state, told) = WriterState::after_failure(error, Some(batch()));
        assert_eq!((told, state.error()), (reported.clone(), Some(reported)));
        assert!(!state.is_healthy());
    }
    assert_eq!(WriterState::Healthy.error(), None);
    assert_eq!(WriterState::Dead.error(), Some(panicked()));
}

#[test]
fn callers_of_a_write_in_doubt_are_told_after_a_second_of_pauses() {
    for (took_ms, pauses) in [(0, 10), (30, 4), (100, 1), (1_000, 1)] {
        let (mut state, error) = WriterState::after_failure(first_error(), Some(batch()));
        let pause = pause_after(Duration::from_millis(took_ms));
        let needed = (1..100).find(|_| state.add_pause(pause) == Some(outcome_unknown(&error)));
        assert_eq!(needed, Some(pauses), "{took_ms} ms");
    }
    assert_eq!(WriterState::Healthy.add_pause(Duration::MAX), None);
    assert_eq!(WriterState::Dead.add_pause(Duration::MAX), None);
}
