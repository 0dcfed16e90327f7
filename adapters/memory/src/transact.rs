//! A write without a journal: lock the stripes of its records, load them, decide, apply.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use petstore_domain::{Footprint, View};
use petstore_ports::{StoreError, Transition};

use crate::stripes::Stripes;
use crate::tables::Tables;

/// Maximum number of rounds in which a footprint may grow. An operation of the shop takes two or three, and one more
/// each time that a record which determines its footprint was changed in between.
pub(crate) const ROUNDS_MAX: usize = 16;

/// Runs a transition.
///
/// The stripes of its footprint are locked from before the records are loaded until its changes are applied. If the
/// footprint grows with the loaded records, all stripes are unlocked, and those of the larger footprint are locked:
/// stripes are only ever locked in ascending order.
pub(crate) fn run(stripes: &Stripes, tables: &Tables, transition: &dyn Transition) -> Result<(), StoreError> {
    let mut view = View::default();
    let mut footprint = ask(|| transition.footprint(&view))?;
    for _ in 0..ROUNDS_MAX {
        let _held = stripes.hold(footprint.records());
        tables.load(&footprint, &mut view)?;
        let asked = ask(|| transition.footprint(&view))?;
        if grow(&mut footprint, &asked) {
            continue;
        }
        let changes = ask(|| transition.decide(&view))?.unwrap_or_default();
        tables.return_unused_ids(&view, &changes);
        return tables.apply(changes);
    }
    Err(StoreError::busy(format!("the footprint of an operation still changed after {ROUNDS_MAX} rounds")))
}

/// Adds records to a footprint. Returns true if any of them is new.
fn grow(footprint: &mut Footprint, asked: &Footprint) -> bool {
    if asked == footprint {
        return false;
    }
    let before = footprint.records().len();
    for record in asked.records() {
        footprint.add(record.clone());
    }
    footprint.records().len() > before
}

/// Calls an operation. Nothing is written during the call, so a panic of the operation leaves no partial change.
pub(crate) fn ask<T>(call: impl FnOnce() -> T) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| {
        StoreError::corrupt(format!("an operation panicked: {}", message_of(panic.as_ref())))
    })
}

fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message")
}
