//! Decisions of the store, and the batches that bring them to the disk.

use petstore_domain::{AccountWebhooks, Change, Changes};
use petstore_ports::UsageCount;

use super::{Actor, Gate, Oracle, Owner, Progress, RunState, Staged, given};
use crate::model::events::{look, touched};
use crate::model::rows;

impl Oracle {
    /// Records that a transition is passed to the store. Returns the request, command or ban that it belongs to.
    pub(crate) fn handed_over(&self, process: u64, actor: Option<Actor>) -> Owner {
        let mut broken = None;
        let owner = {
            let mut state = self.lock();
            match actor {
                _ if state.process != process => Owner::Gone,
                Some(Actor::Connection(connection)) => {
                    let id = state.current[&connection];
                    let since = state.now();
                    let asked = &mut state.asked[id];
                    if !matches!(asked.progress, Progress::None) {
                        broken = Some(format!("request {id} changes something twice"));
                    }
                    asked.progress = Progress::Queued { since, now: self.clock.millis() };
                    Owner::Request(id)
                }
                Some(Actor::Operator) => {
                    let id = state.commands.len() - 1;
                    state.commands[id].now = self.clock.millis();
                    Owner::Operator(id)
                }
                None => Owner::Webhooks,
            }
        };
        self.changes.notify_waiters();
        self.judge(broken.map_or(Ok(()), Err));
        owner
    }

    /// Records that the store has decided a transition.
    pub(crate) fn decided(&self, process: u64, owner: Owner, changes: Option<&Changes>) {
        let mut state = self.lock();
        if state.process != process || matches!(owner, Owner::Gone) {
            return;
        }
        let (given, keys) = given(changes);
        let webhooks =
            changes.map(Changes::as_slice).unwrap_or_default().iter().find_map(|change| match change {
                Change::Webhooks(record) => Some(AccountWebhooks::clone(record)),
                Change::WebhooksDeleted(account) => Some(AccountWebhooks::none(*account)),
                _ => None,
            });
        state.staged.push(Staged { owner, given, keys, webhooks });
    }

    /// Records that the store has finished a step. Without a batch in doubt, all decisions are final.
    pub(crate) fn stepped(&self, process: u64) {
        let outcome = {
            let mut state = self.lock();
            if state.process != process || state.doubt.is_some() {
                return;
            }
            // Decisions without changes are not in a batch, so they become final here.
            state.commit()
        };
        self.judge(outcome);
    }

    /// Records that the journal has committed a batch, in which `decisions` decisions have changes.
    pub(crate) fn committed(&self, process: u64, number: u64, decisions: usize) {
        let outcome = {
            let mut state = self.lock();
            if state.process != process {
                return;
            }
            let line = format!("batch {number}, {} decisions", state.staged.len());
            state.trace.note(self.start.elapsed(), &line);
            state.counts.commits += 1;
            state.counts.shared += u64::from(decisions > 1);
            state.commit()
        };
        self.commits.notify_waiters();
        self.judge(outcome);
    }

    /// Records that the journal has failed. `batch` is the batch that the journal was appending, or none if another
    /// call failed.
    pub(crate) fn failing(&self, process: u64, batch: Option<u64>) {
        let mut state = self.lock();
        if state.process != process {
            return;
        }
        state.trace.note(self.start.elapsed(), &format!("the journal fails at {batch:?}"));
        state.failing = true;
        state.doubt = batch.or(state.doubt);
    }

    /// Records that the journal has recovered, and that its last batch is `last`.
    pub(crate) fn recovered(&self, process: u64, last: u64) {
        let outcome = {
            let mut state = self.lock();
            if state.process != process {
                return;
            }
            state.trace.note(self.start.elapsed(), &format!("the journal has recovered at batch {last}"));
            (state.failing, state.failing_until) = (false, state.now());
            state.settle_doubt(last)
        };
        self.judge(outcome);
    }

    /// Records that usage was passed to the journal. If `is_there`, the journal has stored it; otherwise the journal
    /// may have stored it.
    pub(crate) fn noted_usage(&self, process: u64, counts: &[UsageCount], is_there: bool) {
        let mut wrong = None;
        {
            let mut state = self.lock();
            if state.process != process {
                return;
            }
            for count in counts {
                let (account, windows) = (count.account.get(), rows::windows(count));
                let right = state.quotas.windows.get(&account).copied().unwrap_or_default();
                if windows != right {
                    wrong = Some(format!("account {account} has used {right:?}, {windows:?} is noted"));
                }
                if is_there {
                    state.write_behind.usage.insert(account, windows);
                    state.write_behind.usage_in_doubt.remove(&account);
                    state.write_behind.usage_since.remove(&account);
                } else {
                    state.write_behind.usage_in_doubt.entry(account).or_default().push(windows);
                }
            }
        }
        self.judge(wrong.map_or(Ok(()), Err));
    }

    /// Records that the journal was requested to drop expired records. If `is_done`, they are dropped; otherwise they
    /// may have been dropped.
    pub(crate) fn pruned(&self, process: u64, now: i64, is_done: bool) {
        let mut state = self.lock();
        if state.process != process {
            return;
        }
        if is_done {
            state.retries.prune(now);
        } else {
            state.write_behind.pruned = state.write_behind.pruned.max(now);
        }
    }
}

impl RunState {
    /// Decides whether the batch in doubt is on disk. It is on disk if the journal's last batch is this batch or a
    /// later one.
    pub(super) fn settle_doubt(&mut self, last: u64) -> Result<(), String> {
        let Some(batch) = self.doubt.take() else { return Ok(()) };
        if last >= batch {
            return self.commit();
        }
        let since = self.now();
        for staged in std::mem::take(&mut self.staged) {
            match staged.owner {
                Owner::Request(id) => self.asked[id].progress = Progress::Dropped { since },
                Owner::Operator(id) => self.commands[id].dropped = true,
                Owner::Ban(..) | Owner::Webhooks | Owner::Gone => {}
            }
        }
        Ok(())
    }

    /// Applies the decisions of the batch to the model, in the order of the decisions.
    fn commit(&mut self) -> Result<(), String> {
        let now = self.now();
        self.permits.look(&self.accounts, now);
        for staged in std::mem::take(&mut self.staged) {
            match staged.owner {
                Owner::Request(id) => self.commit_request(id, &staged)?,
                Owner::Operator(id) => {
                    let Self { accounts, commands, quotas, events, .. } = self;
                    let given = &mut commands[id];
                    let key = given.command.key().filter(|key| accounts.keys.contains_key(key));
                    let before = key.and_then(|key| accounts.keys[&key].ban);
                    let (done, forgiven) = accounts.apply(&given.command, given.now, staged.keys)?;
                    if let Some(key) = forgiven {
                        quotas.clear_strikes(key);
                    }
                    if let Some(key) = key {
                        events.key_changed(accounts, key, before);
                    }
                    given.done = Some(done);
                }
                Owner::Ban(key, ban) => {
                    let before = self.accounts.keys.get(&key).and_then(|key| key.ban);
                    self.accounts.record_ban(key, ban);
                    self.events.key_changed(&self.accounts, key, before);
                    if self.quotas.ban(&self.accounts, key) == self.accounts.keys[&key].ban {
                        self.write_behind.bans.remove(&key);
                    }
                }
                Owner::Webhooks => self.commit_webhooks(staged.webhooks.as_ref()),
                Owner::Gone => {}
            }
        }
        self.webhooks.committed(&self.events, now);
        Ok(())
    }

    fn commit_webhooks(&mut self, record: Option<&AccountWebhooks>) {
        let (Some(record), now) = (record, self.now()) else { return };
        for (webhook, reason) in self.webhooks.change(record, now) {
            self.events.webhook_disabled(record.account.get(), webhook, reason);
        }
    }

    fn commit_request(&mut self, id: usize, staged: &Staged) -> Result<(), String> {
        let asked = &self.asked[id];
        let (Progress::Queued { now, .. }, Some(Gate::Admitted { account, .. })) =
            (&asked.progress, &asked.gate)
        else {
            return Err(format!("request {id} changes something, and was not admitted"));
        };
        let (now, request) = (*now, &asked.request);
        let name = asked
            .request
            .idempotency_key
            .clone()
            .and_then(|key| Some((*account, request.op.idempotency_scope()?, key)));
        let body = request.op.body().unwrap_or_default();
        let known = name.as_ref().and_then(|name| self.retries.answer(name, &body, now));
        let answer = if let Some(answer) = known {
            answer
        } else {
            let resources = touched(&request.op, staged.given, &self.shop);
            let before = look(&self.shop, &resources);
            let answer = self.shop.apply(&request.op, request.if_match.as_deref(), now, staged.given);
            let answer = answer.map_err(|what| format!("request {id} {:?}: {what}", request.op))?;
            self.events.changed(&before, &look(&self.shop, &resources), now);
            if let Some(name) = name {
                self.retries.keep(name, body, &answer, now);
            }
            answer
        };
        self.asked[id].progress = Progress::Settled { answer, since: self.now() };
        Ok(())
    }
}
