//! The loop of the dispatcher: it runs the work that the machine asks for, and tells the machine the results.

use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::future::Abortable;
use futures_util::stream::{FuturesUnordered, Stream};
use petstore_domain::{
    AccountId, AttemptError, DeliveryUpdate, DisableWebhook, EventFilter, EventKinds, Timestamp, WebhookId,
};
use petstore_ports::{
    ClaimedWebhook, DeliveryLease, LeaseState, LogEnd, Reply, StoreError, StoreErrorKind, WebhookChanges, run,
};

use super::attempt::{AttemptEnd, AttemptId, DispatcherPorts, Sent};
use super::endpoint::Sending;
use super::machine::Machine;
use super::nudge::DispatchNudge;
use super::overview::Unsettled;
use super::reading::{LogRead, ReadResult};
use super::rounds::Rounds;
use super::stats::DispatchStats;
use super::tester::WebhookTester;
use crate::call_deadlines::CallDeadlines;
use crate::policy::Policy;

/// The time between two rounds. In each round settings are looked at, and progress is saved.
const ROUND: Duration = Duration::from_millis(200);

/// The time between two renewals of leases, a third of their length.
const RENEW: Duration = Duration::from_secs(10);

/// The time after which webhooks are claimed again that another node holds.
const CLAIM_AGAIN: Duration = Duration::from_secs(2);

/// The time between two counts of all webhooks by state, for the statistics.
const OVERVIEW: Duration = Duration::from_secs(1);

/// Delivers the events of webhooks until it is stopped.
pub struct Dispatcher {
    pub(super) ports: Arc<DispatcherPorts>,
    pub(super) deadlines: CallDeadlines,
    stats: Arc<DispatchStats>,
    nudge: Arc<DispatchNudge>,
    has_jitter: bool,
}

/// The result of a piece of work.
pub(super) enum Done {
    Attempt(AttemptId, AttemptEnd),
    Read(LogRead, ReadResult),
    /// The number of the round, and the end of the log, at which the changes were asked for.
    Changes(u64, LogEnd, Result<WebhookChanges, StoreError>),
    Claimed(usize, u64, Result<Vec<ClaimedWebhook>, StoreError>),
    /// The accounts that were asked for, and those of them that may have webhooks.
    Permitted(Vec<AccountId>, Result<Vec<AccountId>, StoreError>),
    Renewed(Vec<DeliveryLease>, Result<Vec<DeliveryLease>, StoreError>),
    Saved(DeliveryLease, Result<LeaseState, Vec<DeliveryUpdate>>),
    Disabled(WebhookId, bool),
    Flushed,
    Released,
    Dated(usize, Unsettled, Option<Timestamp>),
}

pub(super) type Work = FuturesUnordered<Pin<Box<dyn Future<Output = Done> + Send>>>;

impl Dispatcher {
    /// A dispatcher over these ports. With `has_jitter`, retries are spread by up to a fifth of their delay; tests that turn
    /// the clock leave it out. The deliveries are counted in `stats`.
    pub fn new(ports: DispatcherPorts, policy: &Policy, has_jitter: bool, stats: Arc<DispatchStats>) -> Self {
        let deadlines =
            CallDeadlines::new(Arc::clone(&ports.timer), policy.store_timeout, policy.quota_timeout);
        Self { ports: Arc::new(ports), deadlines, stats, nudge: Arc::default(), has_jitter }
    }

    /// The counts.
    pub fn stats(&self) -> Arc<DispatchStats> {
        Arc::clone(&self.stats)
    }

    /// The testing aids for the webhooks of this dispatcher.
    pub fn tester(&self) -> WebhookTester {
        WebhookTester {
            ports: Arc::clone(&self.ports),
            deadlines: self.deadlines.clone(),
            stats: self.stats(),
            nudge: Arc::clone(&self.nudge),
        }
    }

    /// Delivers until `stopped` completes. Then no attempt begins; those in flight have a few seconds to end, their results
    /// are saved, and the leases are released.
    pub async fn run(&self, stopped: impl Future<Output = ()> + Send) {
        let mut stopped = std::pin::pin!(stopped);
        let mut machine = Machine::new(self.ports.feed.end(), self.has_jitter);
        let mut work = Work::new();
        let mut rounds = Rounds::new(self.deadlines.elapsed() + RENEW);
        let mut waiter: Option<(EventKinds, Reply<LogEnd>)> = None;
        let mut latest = Timestamp::MIN;
        loop {
            let (now, elapsed) = (self.ports.clock.now(), self.deadlines.elapsed());
            if now < latest {
                machine.clock_set_back(now);
            }
            latest = now;
            if elapsed >= rounds.next_round {
                rounds.next_round = elapsed + ROUND;
                self.begin_round(&mut machine, &mut rounds, &work, now, elapsed);
            }
            self.ask_for_permits(&mut machine, &mut rounds, &work, now);
            let end = self.ports.feed.end();
            for read in machine.reads(end, now) {
                work.push(self.read(read));
            }
            self.send(&mut machine, &work, now);
            let due = machine.next_due().map_or(ROUND, |due| due.since(now));
            let pause = rounds.next_round.saturating_sub(elapsed).min(due);
            let mut sleep = self.ports.timer.sleep(pause);
            self.wait_for_events(&mut waiter, machine.wanted(), end);
            let woken = std::future::poll_fn(|context| {
                if stopped.as_mut().poll(context).is_ready() {
                    return Poll::Ready(Woken::Stopped);
                }
                if let Poll::Ready(Some(done)) = Pin::new(&mut work).poll_next(context) {
                    return Poll::Ready(Woken::Done(done));
                }
                if self.nudge.poll(context).is_ready() {
                    return Poll::Ready(Woken::Nudged);
                }
                if let Some((_, feed)) = &mut waiter
                    && Pin::new(feed).poll(context).is_ready()
                {
                    return Poll::Ready(Woken::Events);
                }
                Pin::new(&mut sleep).poll(context).map(|()| Woken::Timer)
            });
            match woken.await {
                Woken::Stopped => break,
                Woken::Done(done) => self.end(&mut machine, &mut rounds, &work, done),
                Woken::Events => waiter = None,
                Woken::Nudged => rounds.next_round = Duration::ZERO,
                Woken::Timer => {}
            }
        }
        self.stop(machine, rounds, work).await;
    }

    /// Waits for the next event that a webhook gets. Without webhooks it waits for none, so that events cost nothing then.
    fn wait_for_events(
        &self,
        waiter: &mut Option<(EventKinds, Reply<LogEnd>)>,
        wanted: Option<EventKinds>,
        end: LogEnd,
    ) {
        let Some(kinds) = wanted else {
            *waiter = None;
            return;
        };
        if waiter.as_ref().is_none_or(|(waiting, _)| *waiting != kinds) {
            let filter = EventFilter { kinds, account: None };
            *waiter = Some((kinds, self.ports.feed.changed(end, filter)));
        }
    }

    /// Begins the attempts that are due.
    fn send(&self, machine: &mut Machine, work: &Work, now: Timestamp) {
        while let Some((endpoint, sending, registration)) = machine.send(now) {
            let sent = Sent {
                account: endpoint.account,
                webhook: endpoint.webhook.id,
                run: endpoint.webhook.run.number,
                event: endpoint.event(sending.position),
                attempt: sending.attempt,
                trigger: sending.trigger,
            };
            let Sending { number, position, trigger, .. } = sending;
            let id = AttemptId { lease: endpoint.lease, position, trigger, run: sent.run, number };
            let (ports, deadlines) = (Arc::clone(&self.ports), self.deadlines.clone());
            let attempt = async move { ports.attempt(&deadlines, sent).await };
            let attempt = Abortable::new(attempt, registration);
            work.push(Box::pin(
                async move { Done::Attempt(id, attempt.await.unwrap_or(AttemptEnd::Cancelled)) },
            ));
        }
        self.stats.set_in_flight(machine.in_flight());
        self.stats.set_held(machine.held.len());
    }

    fn read(&self, read: LogRead) -> Pin<Box<dyn Future<Output = Done> + Send>> {
        let reply = self.deadlines.reply(self.ports.events.read(read.query));
        Box::pin(async move { Done::Read(read, reply.await.map_err(|error| error.kind())) })
    }

    /// Looks for changed settings and webhooks to claim, renews leases, saves progress, and disables webhooks.
    fn begin_round(
        &self,
        machine: &mut Machine,
        rounds: &mut Rounds,
        work: &Work,
        now: Timestamp,
        elapsed: Duration,
    ) {
        let end = self.ports.feed.end();
        let has_claimed = !rounds.is_claiming && !rounds.has_claim_failed;
        if machine.is_settled(end, now) && !rounds.is_unsaved() && has_claimed {
            self.stats.note_settled(rounds.read_in, end);
        }
        let round = self.stats.begin_round();
        if !rounds.is_asking {
            rounds.is_asking = true;
            let reply = self.deadlines.reply(self.ports.webhooks.changed_webhooks(rounds.revision));
            work.push(Box::pin(async move { Done::Changes(round, end, reply.await) }));
        }
        self.claim(machine, rounds, work, now);
        if elapsed >= rounds.next_renewal {
            rounds.next_renewal = elapsed + RENEW;
            let leases = machine.leases();
            let reply = self.deadlines.reply(self.ports.deliveries.renew(leases.clone(), now));
            work.push(Box::pin(async move { Done::Renewed(leases, reply.await) }));
        }
        self.save(machine, rounds, work, now);
        for (account, id, reason, run_number) in machine.disables() {
            let (ports, deadlines) = (Arc::clone(&self.ports), self.deadlines.clone());
            let stats = Arc::clone(&self.stats);
            work.push(Box::pin(async move {
                let operation = DisableWebhook { account, id, reason, run: run_number };
                let done = std::pin::pin!(run(&*ports.transactor, operation, now));
                let is_done = deadlines.write(done).await.is_ok();
                if is_done {
                    stats.notices().disabled(account, id, reason);
                }
                Done::Disabled(id, is_done)
            }));
        }
        self.release(machine, work);
        for (account, attempts) in machine.waiting_for_places() {
            if !self.stats.notices().waiting(account, attempts, now) {
                break;
            }
        }
        if elapsed >= rounds.next_overview {
            rounds.next_overview = elapsed + OVERVIEW;
            self.look_over(machine, rounds, work);
        }
    }

    /// Counts the webhooks, and looks up the times of the oldest events that they have not got.
    fn look_over(&self, machine: &Machine, rounds: &mut Rounds, work: &Work) {
        let overview = machine.overview(self.ports.signer.master());
        self.stats.set_webhooks(overview.counts);
        for (index, place) in overview.oldest.into_iter().enumerate() {
            match rounds.oldest[index].next(place) {
                Some(place) => {
                    let reply = self.deadlines.reply(self.ports.events.read(place.query()));
                    work.push(Box::pin(async move {
                        let read = reply.await.ok();
                        Done::Dated(index, place, read.as_ref().and_then(Unsettled::time_in))
                    }));
                }
                None if place.is_none() => self.stats.oldest()[index].set(None),
                None => {}
            }
        }
    }

    /// Claims the webhooks that are not held.
    fn claim(&self, machine: &mut Machine, rounds: &mut Rounds, work: &Work, now: Timestamp) {
        let unclaimed = machine.unclaimed(self.ports.signer.master());
        let is_due = machine.is_reclaiming || self.deadlines.elapsed() >= rounds.next_claim;
        if rounds.is_claiming || !is_due {
            return;
        }
        if unclaimed.is_empty() {
            rounds.has_claim_failed = false;
            return machine.claimed(Vec::new(), now);
        }
        rounds.is_claiming = true;
        let asked = unclaimed.len();
        let reply = self.deadlines.reply(self.ports.deliveries.claim(unclaimed, now));
        let revision = rounds.revision;
        work.push(Box::pin(async move { Done::Claimed(asked, revision, reply.await) }));
    }

    /// Tells the machine the result of a piece of work.
    pub(super) fn end(&self, machine: &mut Machine, rounds: &mut Rounds, work: &Work, done: Done) {
        let now = self.ports.clock.now();
        match done {
            Done::Attempt(id, end) => {
                match &end {
                    AttemptEnd::Attempted(_, attempt) => {
                        self.stats.count(&attempt.outcome);
                        if attempt.outcome.error == Some(AttemptError::AddressRefused) {
                            self.stats.notices().refused(id.lease.webhook, now);
                        }
                    }
                    AttemptEnd::Unreadable => self.stats.notices().unreadable(id.lease.webhook, now),
                    _ => {}
                }
                machine.attempted(id, end, now);
            }
            Done::Read(read, result) => {
                if let (Some(webhook), Err(StoreErrorKind::Corrupt)) = (read.webhook, &result) {
                    self.stats.notices().unreadable(webhook, now);
                }
                machine.read(&read, &result, now);
            }
            Done::Changes(round, end, result) => {
                rounds.is_asking = false;
                let Ok(changes) = result else { return };
                rounds.read_in = round;
                let confirmed = std::mem::replace(&mut rounds.confirmed, end);
                if changes.revision != rounds.revision || !changes.accounts.is_empty() {
                    rounds.revision = changes.revision;
                    rounds.next_claim = Duration::ZERO;
                    machine.change(changes, confirmed, now);
                    self.claim(machine, rounds, work, now);
                }
            }
            Done::Claimed(asked, revision, result) => {
                rounds.is_claiming = false;
                rounds.has_claim_failed = result.is_err();
                let claimed = result.unwrap_or_default();
                // Webhooks that became known meanwhile were not asked for.
                let is_current = revision == rounds.revision;
                if claimed.len() < asked && is_current {
                    rounds.next_claim = self.deadlines.elapsed() + CLAIM_AGAIN;
                }
                machine.claimed(claimed, now);
                if !is_current {
                    self.claim(machine, rounds, work, now);
                }
                rounds.has_new_accounts = machine.lacks_permits();
            }
            Done::Permitted(asked, result) => Self::take_permits(machine, rounds, &asked, result, now),
            Done::Renewed(asked, Ok(renewed)) => machine.keep(&renewed, &asked),
            Done::Released => {
                machine.end_release();
                self.claim(machine, rounds, work, now);
            }
            Done::Renewed(_, Err(_)) => {}
            Done::Saved(lease, result) => {
                rounds.saves -= 1;
                rounds.needs_flush |= result.is_ok();
                machine.saved(lease, result);
                self.flush(rounds, work);
            }
            Done::Disabled(id, is_done) => machine.disabled(id, is_done),
            Done::Dated(index, place, at) => {
                if rounds.oldest[index].found(place) {
                    self.stats.oldest()[index].set(at);
                }
            }
            Done::Flushed => {
                rounds.is_flushing = false;
                self.flush(rounds, work);
            }
        }
    }
}

/// The reason why the loop continues.
enum Woken {
    Stopped,
    Done(Done),
    Nudged,
    Events,
    Timer,
}
