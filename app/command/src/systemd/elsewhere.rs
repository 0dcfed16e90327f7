//! Systems without systemd: no supervisor is told anything, and no socket is inherited.

use std::sync::Arc;

use petstore_http::Endpoint;

use crate::failure::Failure;

/// No supervisor.
pub(crate) struct Supervisor;

#[expect(clippy::unused_self, reason = "as on Linux")]
impl Supervisor {
    pub(crate) const fn find() -> Self {
        Self
    }

    pub(crate) const fn ready(&self) {}

    pub(crate) const fn reloading(&self) {}

    pub(crate) const fn stopping(&self) {}

    #[expect(clippy::unused_async, reason = "as on Linux")]
    pub(crate) async fn watchdog(self: Arc<Self>) {}
}

/// No socket is inherited.
#[expect(clippy::unnecessary_wraps, reason = "as on Linux")]
pub(crate) const fn inherited() -> Result<Vec<Endpoint>, Failure> {
    Ok(Vec::new())
}
