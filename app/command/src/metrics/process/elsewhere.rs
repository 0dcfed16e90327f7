//! Systems whose statistics of a process std does not offer: the families are left out, as the clients of Prometheus do.

use std::fmt;

use crate::metrics::Families;

/// No statistics.
#[derive(Debug, Default)]
pub(crate) struct Process;

#[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as on Linux")]
impl Process {
    pub(crate) const fn read() -> Self {
        Self
    }

    pub(crate) const fn encode(&self, _: &mut Families<'_>) -> fmt::Result {
        Ok(())
    }
}
