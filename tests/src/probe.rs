//! Operations that the shop does not have: closures that read records and write any changes.

use petstore_domain::{Changes, Footprint, Operation, RecordRef, View};

/// An operation made of the records to read and a closure that decides.
///
/// A probe must not create a state that the domain's own operations cannot reach, because a store may refuse to keep
/// it.
#[derive(Clone)]
pub(crate) struct Probe<F> {
    names: Vec<RecordRef>,
    decide: F,
}

impl<F> Probe<F> {
    /// Returns an operation that reads these records, and decides with this closure.
    pub(crate) fn new<T>(names: impl Into<Vec<RecordRef>>, decide: F) -> Self
    where
        F: Fn(&View) -> Result<(Changes, T), Refused>,
    {
        Self { names: names.into(), decide }
    }
}

/// The rejection of a probe that wrote nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused;

impl<F, T> Operation for Probe<F>
where
    F: Fn(&View) -> Result<(Changes, T), Refused> + Send + Sync + 'static,
    T: Send,
{
    type Output = T;
    type Rejection = Refused;

    fn footprint(&self, _seen: &View) -> Footprint {
        let mut footprint = Footprint::default();
        for name in &self.names {
            footprint.add(name.clone());
        }
        footprint
    }

    fn decide(&self, view: &View) -> Result<(Changes, T), Refused> {
        (self.decide)(view)
    }
}
