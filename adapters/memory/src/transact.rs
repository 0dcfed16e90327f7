//! A write without a journal. It locks the stripes of its records, loads the records, decides, and applies its changes.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use petstore_domain::{Footprint, View};
use petstore_ports::{StoreError, Transition};

use crate::stripes::Stripes;
use crate::tables::Tables;

/// Maximum number of rounds in which a footprint may grow. An operation of the shop needs two or three rounds. It needs
/// another round each time another write has changed a record that determines its footprint.
pub(crate) const ROUNDS_MAX: usize = 16;

/// Runs a transition.
///
/// The stripes of the footprint (the records that the transition uses) are locked before the records are loaded, and
/// unlocked after the changes were applied. If the loaded records show that the footprint is larger, all stripes are
/// unlocked first, and then the stripes of the larger footprint are locked, because stripes must be locked in ascending
/// order.
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
