//! Messages of the dispatcher for an operator.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use petstore_domain::{AccountId, DisabledReason, Timestamp, WebhookId};

/// The number of messages that wait. Further ones are dropped.
const NOTICES_MAX: usize = 100;

/// The time in which the same subject causes one message.
const SAID_AGAIN: Duration = Duration::from_hours(1);

/// The number of subjects that are known to have caused a message. Further ones cause none until some of them are older.
const SAID_MAX: usize = 10_000;

/// The time between two looks for subjects that are older, while too many are known.
const SWEEP: Duration = Duration::from_mins(1);

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
    /// The event log is damaged where the next events of a webhook are, or one that is to be sent again.
    Unreadable {
        /// The webhook.
        webhook: WebhookId,
    },
    /// The webhooks of an account wait, because its attempts in flight are as many as its share allows.
    Waiting {
        /// The account.
        account: AccountId,
        /// The number of its attempts in flight.
        attempts: usize,
    },
}

/// The subject of a message that is not repeated within an hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Said {
    Refused(WebhookId),
    Unreadable(WebhookId),
    Waiting(AccountId),
}

/// The messages that wait to be taken.
#[derive(Debug, Default)]
pub(super) struct Notices(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    notices: Vec<DispatchNotice>,
    /// The subjects of the last hour.
    said: HashMap<Said, Timestamp>,
    /// The time of the last look for older subjects.
    swept_at: Option<Timestamp>,
}

impl Notices {
    pub(super) fn disabled(&self, account: AccountId, webhook: WebhookId, reason: DisabledReason) {
        self.lock().push(DispatchNotice::Disabled { account, webhook, reason });
    }

    pub(super) fn refused(&self, webhook: WebhookId, now: Timestamp) {
        let _ = self.say_once(Said::Refused(webhook), DispatchNotice::Refused { webhook }, now);
    }

    pub(super) fn unreadable(&self, webhook: WebhookId, now: Timestamp) {
        let _ = self.say_once(Said::Unreadable(webhook), DispatchNotice::Unreadable { webhook }, now);
    }

    /// Returns `false` if no further subject causes a message now.
    pub(super) fn waiting(&self, account: AccountId, attempts: usize, now: Timestamp) -> bool {
        self.say_once(Said::Waiting(account), DispatchNotice::Waiting { account, attempts }, now)
    }

    /// Adds a message unless the last one about its subject is younger than an hour. Returns `false` if too many subjects
    /// are known.
    fn say_once(&self, subject: Said, notice: DispatchNotice, now: Timestamp) -> bool {
        let mut waiting = self.lock();
        // A time after `now` is from before the clock was set back.
        let is_recent = |at: &Timestamp| *at <= now && now.since(*at) < SAID_AGAIN;
        if waiting.said.get(&subject).is_some_and(is_recent) {
            return true;
        }
        let is_due = |at: Timestamp| at > now || now.since(at) >= SWEEP;
        if waiting.said.len() >= SAID_MAX && waiting.swept_at.is_none_or(is_due) {
            waiting.said.retain(|_, at| is_recent(at));
            waiting.swept_at = Some(now);
        }
        let has_room = waiting.said.len() < SAID_MAX || waiting.said.contains_key(&subject);
        if has_room {
            waiting.said.insert(subject, now);
            waiting.push(notice);
        }
        has_room
    }

    pub(super) fn take(&self) -> Vec<DispatchNotice> {
        std::mem::take(&mut self.lock().notices)
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
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
    fn a_subject_is_one_message_an_hour_and_messages_are_bounded() {
        let notices = Notices::default();
        let at = |minutes: u64| Timestamp::EPOCH.plus(Duration::from_mins(minutes));
        let [one, other] = [1, 2].map(WebhookId::from_bits);
        for (webhook, minute) in [(one, 0), (one, 59), (other, 59), (one, 60), (one, 119), (one, 30)] {
            notices.refused(webhook, at(minute));
        }
        let refused = |webhook| DispatchNotice::Refused { webhook };
        assert_eq!(notices.take(), [refused(one), refused(other), refused(one), refused(one)]);
        for minute in [0, 30, 60] {
            notices.waiting(AccountId::FIRST, 28, at(minute));
            notices.unreadable(one, at(minute));
        }
        let waiting = DispatchNotice::Waiting { account: AccountId::FIRST, attempts: 28 };
        let unreadable = DispatchNotice::Unreadable { webhook: one };
        assert_eq!(notices.take(), [waiting, unreadable, waiting, unreadable]);
        for number in 0..2 * SAID_MAX as u128 {
            notices.refused(WebhookId::from_bits(number), at(200));
        }
        assert_eq!((notices.take().len(), notices.lock().said.len()), (NOTICES_MAX, SAID_MAX));
        // Those of the last hour are looked for once a minute.
        assert!(!notices.waiting(AccountId::FIRST, 28, at(200)), "too many are known");
        assert_eq!(notices.lock().swept_at, Some(at(200)));
        assert!(notices.waiting(AccountId::FIRST, 28, at(260)));
        assert_eq!((notices.take().len(), notices.lock().said.len()), (1, 1));
        for _ in 0..=NOTICES_MAX {
            notices.disabled(AccountId::FIRST, one, DisabledReason::Gone);
        }
        assert_eq!((notices.take().len(), notices.take().len()), (NOTICES_MAX, 0));
    }
}
