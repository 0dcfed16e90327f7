//! Messages of the dispatcher for an operator.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use petstore_domain::{AccountId, DisabledReason, Timestamp, WebhookId};

/// The number of messages that wait. Further ones are dropped.
const NOTICES_MAX: usize = 100;

/// The time in which a webhook with a refused address causes one message.
const REFUSED_AGAIN: Duration = Duration::from_hours(1);

/// A message for an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DispatchNotice {
    /// A webhook was disabled, but not by its account or by an operator.
    Disabled {
        /// Its account.
        account: AccountId,
        /// The webhook.
        webhook: WebhookId,
        /// The reason.
        reason: DisabledReason,
    },
    /// A receiver has an address to which webhooks may not go.
    Refused {
        /// The webhook.
        webhook: WebhookId,
    },
}

/// The messages that wait to be taken.
#[derive(Debug, Default)]
pub(super) struct Notices(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    notices: Vec<DispatchNotice>,
    /// The webhooks whose address was refused in the last hour.
    refused: HashMap<WebhookId, Timestamp>,
}

impl Notices {
    pub(super) fn disabled(&self, account: AccountId, webhook: WebhookId, reason: DisabledReason) {
        self.waiting().push(DispatchNotice::Disabled { account, webhook, reason });
    }

    pub(super) fn refused(&self, webhook: WebhookId, now: Timestamp) {
        let mut waiting = self.waiting();
        // A time after `now` is from before the clock was set back.
        waiting.refused.retain(|_, at| *at <= now && now.since(*at) < REFUSED_AGAIN);
        if let Entry::Vacant(entry) = waiting.refused.entry(webhook) {
            entry.insert(now);
            waiting.push(DispatchNotice::Refused { webhook });
        }
    }

    pub(super) fn take(&self) -> Vec<DispatchNotice> {
        std::mem::take(&mut self.waiting().notices)
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn push(&mut self, notice: DispatchNotice) {
        if self.notices.len() < NOTICES_MAX {
            self.notices.push(notice);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_address_is_one_message_an_hour_and_messages_are_bounded() {
        let notices = Notices::default();
        let at = |minutes: u64| Timestamp::EPOCH.plus(Duration::from_mins(minutes));
        let [one, other] = [1, 2].map(WebhookId::from_bits);
        for (webhook, minute) in [(one, 0), (one, 59), (other, 59), (one, 60), (one, 119), (one, 30)] {
            notices.refused(webhook, at(minute));
        }
        let refused = |webhook| DispatchNotice::Refused { webhook };
        assert_eq!(notices.take(), [refused(one), refused(other), refused(one), refused(one)]);
        for _ in 0..=NOTICES_MAX {
            notices.disabled(AccountId::FIRST, one, DisabledReason::Gone);
        }
        assert_eq!((notices.take().len(), notices.take().len()), (NOTICES_MAX, 0));
    }
}
