//! Saving the progress of webhooks: in each round, durably, and at a stop.

use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::stream::Stream;
use petstore_domain::Timestamp;

use super::machine::Machine;
use super::run::{Dispatcher, Done, Rounds, Work};

/// The time for which a stop waits for attempts in flight. Attempts that take longer are repeated later.
const STOP_MAX: Duration = Duration::from_secs(2);

impl Dispatcher {
    pub(super) fn save(&self, machine: &mut Machine, rounds: &mut Rounds, work: &Work, now: Timestamp) {
        for save in machine.saves(now) {
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

impl Rounds {
    pub(super) const fn is_unsaved(&self) -> bool {
        self.saves > 0 || self.needs_flush || self.is_flushing
    }
}
