//! Operations that the shop does not have: closures that read records and write any changes.

use petstore_domain::{Changes, Footprint, Operation, RecordRef, View};

/// An operation made of names to read and a closure that decides.
///
/// Not for states that the domain's own operations cannot reach: a store may refuse to keep them.
#[derive(Clone)]
pub(crate) struct Probe<F> {
    names: Vec<RecordRef>,
    decide: F,
}

impl<F> Probe<F> {
    /// Reads these names and decides.
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
