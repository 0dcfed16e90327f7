//! Faulty quotas.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use petstore_domain::{AccountId, Limits, Timestamp, Usage};
use petstore_ports::{Ask, Quotas, Reply, StoreError, Verdict};

/// Quotas that reopen an earlier minute for a clock that steps back.
pub(crate) struct Wrong {
    inner: Arc<dyn Quotas>,
    latest: AtomicU64,
}

impl Wrong {
    pub(crate) fn new(inner: Arc<dyn Quotas>) -> Self {
        Self { inner, latest: AtomicU64::new(0) }
    }
}

impl Quotas for Wrong {
    fn take(&self, ask: &Ask) -> Reply<Result<Verdict, StoreError>> {
        let minute = ask.now.as_secs() / 60;
        let is_earlier = self.latest.fetch_max(minute, Ordering::Relaxed) > minute;
        self.inner.take(ask).map(move |taken| match taken {
            Ok(Verdict::Exceeded(usage)) if is_earlier => Ok(Verdict::Admitted(usage)),
            taken => taken,
        })
    }

    fn usage(&self, account: AccountId, limits: Limits, now: Timestamp) -> Reply<Result<Usage, StoreError>> {
        self.inner.usage(account, limits, now)
    }
}
