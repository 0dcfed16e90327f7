//! Writes: hold the names, load, decide, apply.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use petstore_domain::{Footprint, View};
use petstore_ports::{StoreError, Transition};

use crate::stripes::Stripes;
use crate::tables::Tables;

/// Rounds in which a footprint may grow. An operation of the shop takes two or three; one more each time that what it
/// follows has changed between two of them.
pub(crate) const ROUNDS_MAX: usize = 16;

/// Runs a transition.
///
/// The names that it asks for are held from before they are loaded until its changes are applied. If what is loaded
/// makes it name more, everything is let go and the larger set is taken: names are only ever taken in their order.
pub(crate) fn run(stripes: &Stripes, tables: &Tables, transition: &dyn Transition) -> Result<(), StoreError> {
    let mut view = View::default();
    let mut footprint = ask(|| transition.footprint(&view))?;
    for _ in 0..ROUNDS_MAX {
        let _held = stripes.hold(footprint.names());
        tables.load(&footprint, &mut view)?;
        let asked = ask(|| transition.footprint(&view))?;
        if grow(&mut footprint, &asked) {
            continue;
        }
        let changes = ask(|| transition.decide(&view))?.unwrap_or_default();
        tables.return_unused_ids(&view, &changes);
        return tables.apply(changes);
    }
    Err(StoreError::busy(format!("what an operation looks at kept changing for {ROUNDS_MAX} rounds")))
}

/// Adds names to a footprint, and says whether any was new.
fn grow(footprint: &mut Footprint, asked: &Footprint) -> bool {
    if asked == footprint {
        return false;
    }
    let before = footprint.names().len();
    for name in asked.names() {
        footprint.add(name.clone());
    }
    footprint.names().len() > before
}

/// Asks an operation something. Nothing has been written while it answers, so that its panic leaves nothing half done.
pub(crate) fn ask<T>(question: impl FnOnce() -> T) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(question)).map_err(|panic| {
        StoreError::corrupt(format!("an operation panicked: {}", message_of(panic.as_ref())))
    })
}

fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message")
}
