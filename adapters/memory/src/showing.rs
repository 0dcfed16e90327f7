//! What makes a decision of several records be seen as one: they are written one after the other, and whoever has met the
//! first finds the others there when they read on.

use std::sync::atomic::{AtomicU32, Ordering};

/// Decisions that are being written just now. In a line of the cache of its own, since each read looks at it.
#[derive(Default)]
#[repr(align(64))]
pub(crate) struct Showing(AtomicU32);

/// One of them; it has been written when this is dropped.
pub(crate) struct Shown<'s>(&'s Showing);

impl Showing {
    pub(crate) fn begin(&self) -> Shown<'_> {
        self.0.fetch_add(1, Ordering::AcqRel);
        Shown(self)
    }

    /// Before each read of the shop, and of who may use it. A look ahead of it is enough: a read that has begun may meet any of the records or
    /// none, but who has met one can only look again afterwards.
    #[inline]
    pub(crate) fn wait(&self) {
        if self.0.load(Ordering::Acquire) != 0 {
            self.wait_long();
        }
    }

    /// It is half a microsecond, unless whoever writes has lost the processor: then it is theirs.
    #[cold]
    fn wait_long(&self) {
        while self.0.load(Ordering::Acquire) != 0 {
            std::thread::yield_now();
        }
    }
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        let Self(Showing(count)) = self;
        count.fetch_sub(1, Ordering::AcqRel);
    }
}
