//! The form of the quota headers in force. Every response reads it, and a reload of the configuration replaces it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::RwLock;

use crate::base::settings::QuotaForm;
use crate::response::quota_headers::QuotaShape;

/// The form that responses have.
pub(crate) struct LiveQuotaHeaders {
    /// `true` if the form is not the default one. Only then a response takes the lock.
    is_other: AtomicBool,
    shape: RwLock<Arc<QuotaShape>>,
}

impl LiveQuotaHeaders {
    pub(crate) fn new(form: QuotaForm) -> Self {
        let live = Self { is_other: AtomicBool::new(false), shape: RwLock::default() };
        live.set_form(form);
        live
    }

    /// Replaces the form. The policies have their usual names.
    pub(crate) fn set_form(&self, form: QuotaForm) {
        self.set(QuotaShape { form, ..QuotaShape::default() });
    }

    fn set(&self, shape: QuotaShape) {
        let is_other = shape != QuotaShape::default();
        *self.shape.write() = Arc::new(shape);
        self.is_other.store(is_other, Ordering::Relaxed);
    }

    /// Returns the form in force.
    pub(crate) fn form(&self) -> QuotaForm {
        self.shape.read().form
    }

    /// Returns the form in force; `None` for the default one.
    #[inline]
    pub(crate) fn shape(&self) -> Option<Arc<QuotaShape>> {
        if self.is_other.load(Ordering::Relaxed) { Some(self.other()) } else { None }
    }

    #[inline(never)]
    fn other(&self) -> Arc<QuotaShape> {
        Arc::clone(&self.shape.read())
    }
}
