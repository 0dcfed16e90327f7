//! Webhooks: the answers to their owners, and the requests to their receivers.

use petstore_domain::WebhookId;

use super::Oracle;
use crate::model::deliveries::Post;

impl Oracle {
    /// Records a change of a webhook that was answered. `is_enabled` is its state; none if it was deleted.
    pub(crate) fn webhook_changed(&self, process: u64, id: WebhookId, is_enabled: Option<bool>) {
        let verdict = {
            let mut state = self.lock();
            state.trace.note(self.start.elapsed(), &format!("webhook {id} is answered: {is_enabled:?}"));
            match state.webhooks.is_enabled(id) {
                _ if state.process != process => Ok(()),
                found if found == is_enabled => Ok(()),
                // The receiver may have disabled it meanwhile.
                Some(false) if is_enabled == Some(true) => Ok(()),
                found => Err(format!("webhook {id} is answered as {is_enabled:?}, {found:?} is on the disk")),
            }
        };
        self.judge(verdict);
    }

    /// Records a request to a receiver.
    pub(crate) fn posted(&self, process: u64, post: &Post) {
        let verdict = {
            let mut state = self.lock();
            if state.process != process {
                return;
            }
            let Post { webhook, position, attempt, signature, .. } = post;
            let line = format!("webhook {webhook} gets {position}, attempt {attempt}, secrets {signature}");
            state.trace.note(self.start.elapsed(), &line);
            let now = state.now();
            let super::RunState { webhooks, events, permits, accounts, .. } = &mut *state;
            permits.look(accounts, now);
            webhooks.posted(post, events, permits, now)
        };
        self.judge(verdict);
    }

    /// Records that a receiver has accepted an event.
    pub(crate) fn accepted(&self, process: u64, id: WebhookId, position: u64) {
        let mut state = self.lock();
        if state.process == process {
            let now = state.now();
            state.webhooks.accepted(id, position, now);
        }
    }

    /// Records a step of the wall clock, in milliseconds.
    pub(crate) fn clock_stepped(&self, step: i64) {
        let mut state = self.lock();
        state.trace.note(self.start.elapsed(), &format!("the clock steps by {step} ms"));
        let now = state.now();
        let super::RunState { webhooks, permits, accounts, .. } = &mut *state;
        permits.stepped(accounts, step, now);
        webhooks.clock_stepped(now);
    }

    /// Judges the delay of deliveries, unless the journal fails.
    pub(crate) fn judge_delays(&self, process: u64) {
        let verdict = {
            let mut state = self.lock();
            if state.process != process {
                return;
            }
            let now = state.now();
            if state.failing_since(std::time::Duration::ZERO) {
                state.webhooks.hindered(now);
            }
            let super::RunState { webhooks, events, permits, accounts, .. } = &mut *state;
            permits.look(accounts, now);
            webhooks.overdue(events, permits, now)
        };
        self.judge(verdict);
    }
}
