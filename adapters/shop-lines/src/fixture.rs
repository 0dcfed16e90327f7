//! The arguments that the tests of imports have in common.

use std::sync::Arc;

use petstore_ports::{Unwatched, WorkProgress};

use crate::Collisions;

/// Equal names are refused.
pub(crate) const REFUSED: Collisions = Collisions::Refuse { advice: "rename one of them" };

/// Progress without a display.
pub(crate) fn unwatched() -> Arc<dyn WorkProgress> {
    Arc::new(Unwatched)
}
