//! The receiver to which the pauses and failures of a webhook belong.

use super::schedule::{fnv1a, jittered, retry_delay};
use super::{Progress, WebhookUrl};

/// The permille by which the jitter prolongs a delay at most.
const PROLONGED_MAX: i32 = 200;

impl Progress {
    /// Takes the address to which attempts go from now on. Returns `true` if the pauses and failures are those of another
    /// receiver, and were forgotten.
    pub fn follow_receiver(&mut self, url: &WebhookUrl) -> bool {
        let is_other = self.receiver.is_some_and(|known| known != fingerprint(url));
        if is_other {
            self.forget_receiver();
        }
        self.note_receiver(url);
        is_other
    }

    /// Notes that the pauses, failures and retries, if there are any, belong to this address.
    pub fn note_receiver(&mut self, url: &WebhookUrl) {
        let is_marked = self.failures > 0
            || self.paused_until().is_some()
            || self.pending.iter().any(|delivery| delivery.attempts > 0);
        self.receiver = is_marked.then(|| fingerprint(url));
    }

    /// Forgets the pauses and failures of another receiver. A retry waits at most as long as the schedule says; the next
    /// step brings its time forward.
    pub fn forget_receiver(&mut self) {
        (self.asked, self.rest, self.failures, self.receiver) = (None, None, 0, None);
        for delivery in self.pending.iter_mut().filter(|delivery| delivery.attempts > 0) {
            let scheduled = retry_delay(delivery.attempts).unwrap_or_default();
            delivery.wait = delivery.wait.min(jittered(scheduled, PROLONGED_MAX));
        }
    }
}

fn fingerprint(url: &WebhookUrl) -> u64 {
    fnv1a(url.as_str().bytes())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{DeliveryPause, PendingDelivery, Position, Timestamp};

    fn url(text: &str) -> WebhookUrl {
        WebhookUrl::parse(text).unwrap()
    }

    /// Progress of a webhook whose receiver has asked for an hour after the first attempt.
    fn paused(receiver: &WebhookUrl) -> Progress {
        let (now, hour) = (Timestamp::EPOCH, Duration::from_hours(1));
        let mut progress = Progress::new(1, 7, Position::START.next());
        progress.failures = 9;
        progress.asked = Some(DeliveryPause::begin(now, hour));
        progress.rest = Some(DeliveryPause::begin(now, Duration::from_secs(16)));
        progress.pending.push(PendingDelivery {
            position: Position::START.next(),
            attempts: 1,
            due: now.plus(hour),
            wait: hour,
            is_in_flight: false,
            is_manual: false,
        });
        progress.note_receiver(receiver);
        progress
    }

    #[test]
    fn another_receiver_does_not_wait_for_what_the_one_before_asked_for() {
        let (one, other) = (url("https://a.example"), url("https://b.example"));
        let before = paused(&one);
        let mut progress = before.clone();
        assert!(!progress.follow_receiver(&one));
        assert_eq!(progress, before);
        assert!(progress.follow_receiver(&other));
        assert_eq!((progress.paused_until(), progress.failures), (None, 0));
        assert_eq!(progress.pending[0].wait, Duration::from_secs(6));
        assert!(!progress.follow_receiver(&other), "it is known from now on");
        // The pause of an older progress, which does not name its receiver, stays.
        let mut unknown = Progress { receiver: None, ..before.clone() };
        assert!(!unknown.follow_receiver(&one));
        assert_eq!(unknown, before);
    }

    #[test]
    fn a_webhook_without_failures_names_no_receiver() {
        let mut progress = Progress::new(1, 7, Position::START);
        assert!(!progress.follow_receiver(&url("https://a.example")));
        assert_eq!(progress.receiver, None);
    }
}
