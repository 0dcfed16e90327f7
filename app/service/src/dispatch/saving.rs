//! Saving the progress of webhooks: in each round, durably, and at a stop.

use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::stream::Stream;
use petstore_domain::{DeliveryUpdate, Progress, Timestamp};
use petstore_ports::{DeliveryLease, LeaseState, LogEnd};

use super::machine::{Machine, turns};
use super::rounds::Rounds;
use super::run::{Dispatcher, Done, Work};

/// The time for which a stop waits for attempts in flight. Attempts that take longer are repeated later.
const STOP_MAX: Duration = Duration::from_secs(2);

/// The time after which the progress of a webhook without deliveries is saved. After a restart, the events since then are
/// looked at once more.
const IDLE_SAVE: Duration = Duration::from_mins(1);

/// The number of saves that begin in one step.
const SAVES_MAX: usize = 64;

/// Progress that is to be saved.
pub(super) struct Save {
    pub(super) lease: DeliveryLease,
    pub(super) progress: Progress,
    pub(super) updates: Vec<DeliveryUpdate>,
}

impl Machine {
    /// The saves that begin now. The types of the webhooks that are in use were read when the log ended at `confirmed`.
    pub(super) fn saves(&mut self, confirmed: LogEnd, now: Timestamp) -> Vec<Save> {
        let mut saves = Vec::new();
        for id in turns(self.held.keys(), self.saved_last) {
            if saves.len() == SAVES_MAX {
                break;
            }
            let Some(endpoint) = self.held.get_mut(&id) else { continue };
            let is_last = endpoint.is_ending() && endpoint.progress.in_flight() == 0;
            let is_due = endpoint.is_dirty || is_last || now.since(endpoint.saved_at) >= IDLE_SAVE;
            if !is_due || endpoint.is_saving {
                continue;
            }
            endpoint.look_up_to(self.head);
            endpoint.note_types(confirmed);
            (endpoint.is_dirty, endpoint.is_saving, endpoint.saved_at) = (false, true, now);
            self.saved_last = Some(id);
            saves.push(Save {
                lease: endpoint.lease,
                progress: endpoint.progress.clone(),
                updates: std::mem::take(&mut endpoint.updates),
            });
        }
        saves
    }

    /// Takes the result of a save. A failed save is repeated with its updates.
    pub(super) fn saved(&mut self, lease: DeliveryLease, result: Result<LeaseState, Vec<DeliveryUpdate>>) {
        let Some(endpoint) = self.held.get_mut(&lease.webhook).filter(|it| it.lease == lease) else { return };
        endpoint.is_saving = false;
        match result {
            Ok(LeaseState::Held) => {
                if endpoint.is_ending() && !endpoint.is_dirty && endpoint.progress.in_flight() == 0 {
                    self.end(lease.webhook);
                }
            }
            Ok(LeaseState::Lost) => drop(self.drop_lease(lease.webhook)),
            Err(mut updates) => {
                updates.append(&mut endpoint.updates);
                (endpoint.updates, endpoint.is_dirty) = (updates, true);
            }
        }
    }
}

impl Dispatcher {
    pub(super) fn save(&self, machine: &mut Machine, rounds: &mut Rounds, work: &Work, now: Timestamp) {
        for save in machine.saves(rounds.confirmed, now) {
            rounds.saves += 1;
            let (ports, deadlines) = (Arc::clone(&self.ports), self.deadlines.clone());
            work.push(Box::pin(async move {
                let updates = save.updates.clone();
                let saved = ports.deliveries.save(save.lease, save.progress, save.updates);
                Done::Saved(save.lease, deadlines.reply(saved).await.map_err(|_| updates))
            }));
        }
    }

    pub(super) fn release(&self, machine: &mut Machine, work: &Work) {
        let released = machine.released();
        if !released.is_empty() {
            let reply = self.deadlines.reply(self.ports.deliveries.release(released));
            work.push(Box::pin(async move {
                // A lease that could not be released ends by itself.
                let _ = reply.await;
                Done::Released
            }));
        }
    }

    /// Makes the saves durable once all of them have ended.
    pub(super) fn flush(&self, rounds: &mut Rounds, work: &Work) {
        if rounds.needs_flush && rounds.saves == 0 && !rounds.is_flushing {
            (rounds.needs_flush, rounds.is_flushing) = (false, true);
            let reply = self.deadlines.reply(self.ports.deliveries.flush());
            work.push(Box::pin(async move {
                // The store keeps what it could not write, and writes it with the next flush.
                let _ = reply.await;
                Done::Flushed
            }));
        }
    }

    pub(super) async fn stop(&self, mut machine: Machine, mut rounds: Rounds, mut work: Work) {
        let mut sleep = self.ports.timer.sleep(STOP_MAX);
        loop {
            if machine.in_flight() == 0 {
                self.save(&mut machine, &mut rounds, &work, self.ports.clock.now());
            }
            if machine.in_flight() == 0 && !rounds.is_unsaved() {
                break;
            }
            let next = std::future::poll_fn(|context| {
                if let Poll::Ready(Some(done)) = Pin::new(&mut work).poll_next(context) {
                    return Poll::Ready(Some(done));
                }
                Pin::new(&mut sleep).poll(context).map(|()| None)
            });
            match next.await {
                // The store fails, so what could not be saved is delivered again.
                Some(Done::Saved(_, Err(_))) | None => break,
                Some(done) => self.end(&mut machine, &mut rounds, &work, done),
            }
        }
        let leases = machine.leases();
        let _ = self.deadlines.reply(self.ports.deliveries.release(leases)).await;
    }
}
