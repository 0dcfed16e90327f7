//! Faulty quotas, and faulty calls of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use petstore_domain::AccountId;
use petstore_ports::{Ask, Quotas, Reply, StoreError, Verdict};

use super::Bug;

pub(crate) struct Wrong {
    bug: Bug,
    inner: Arc<dyn Quotas>,
    latest: AtomicU64,
    left: AtomicU64,
}

impl Wrong {
    pub(crate) fn new(bug: Bug, inner: Arc<dyn Quotas>) -> Self {
        Self { bug, inner, latest: AtomicU64::new(0), left: AtomicU64::new(0) }
    }
}

impl Quotas for Wrong {
    fn take(&self, ask: &Ask) -> Reply<Result<Verdict, StoreError>> {
        let minute = ask.now.as_secs() / 60;
        let is_earlier = self.latest.fetch_max(minute, Ordering::Relaxed) > minute;
        let opens = self.bug == Bug::ReopensOldWindow && is_earlier;
        self.inner.take(ask).map(move |taken| match taken {
            Ok(Verdict::Exceeded(usage)) if opens => Ok(Verdict::Admitted(usage)),
            taken => taken,
        })
    }

    fn leave(&self, account: AccountId) {
        let is_wrong = self.left.fetch_add(1, Ordering::Relaxed) % 20 == 19;
        let times = match self.bug {
            Bug::LosesPlaces | Bug::SkipsLeave if is_wrong => 0,
            Bug::LeavesTwice if is_wrong => 2,
            _ => 1,
        };
        (0..times).for_each(|_| self.inner.leave(account));
    }
}
