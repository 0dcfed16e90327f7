//! The rule of the dispatcher: which attempts begin when, and what follows from their results.

use std::time::Duration;

use super::progress::{FAILURES_MAX, IN_FLIGHT_MAX, RETRIES_MAX};
use super::schedule::{ATTEMPTS_MAX, failure_rest, jittered, retry_delay, retry_jitter};
use super::{
    AttemptError, AttemptOutcome, AttemptTrigger, DeliveryOrder, DeliveryPause, DeliveryRules,
    DeliveryStatus, DisabledReason, PendingDelivery, Progress,
};
use crate::{Position, Timestamp};

/// The time without a success after which a webhook is disabled. It is checked only when the last attempt for an event
/// fails, so that a single failure after a quiet week does not count.
pub const FAILING_MAX: Duration = Duration::from_hours(5 * 24);

/// The longest time for which a receiver's `Retry-After` delays the next attempts.
pub const RETRY_AFTER_MAX: Duration = Duration::from_hours(1);

/// The status codes whose `Retry-After` is honoured.
const STATUS_WITH_WAIT: [u16; 2] = [429, 503];

/// A reason for a step of the dispatcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DispatchInput<'a> {
    /// The log was read.
    Log {
        /// The events that the webhook gets, by position, at most [`Progress::room`] of them.
        matching: &'a [Position],
        /// The position up to which the log was read.
        scanned: Position,
    },
    /// The dispatcher has room for attempts.
    Tick {
        /// The maximum number of attempts.
        attempts_max: usize,
    },
    /// An attempt has ended.
    Outcome {
        /// The event that was sent.
        position: Position,
        /// The end of the attempt, with its answer or error.
        result: AttemptResult,
    },
    /// An attempt was dropped before its request was sent.
    Dropped {
        /// The event that was not sent.
        position: Position,
        /// The cause of the attempt, which is that of the next one.
        trigger: AttemptTrigger,
        /// The time until it may begin again.
        pause: Duration,
    },
    /// The event of a delivery is no longer in the log.
    Missing(Position),
    /// A client asks for an event once more.
    Redeliver {
        /// The event that is delivered once more.
        position: Position,
        /// The number of the request.
        number: u64,
    },
}

/// The part of the result of an attempt that decides on the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptResult {
    /// The receiver has accepted the event.
    Delivered,
    /// The receiver wants no more events.
    Gone,
    /// The attempt failed. The receiver may have asked for some time until the next one.
    Failed(Option<Duration>),
}

/// A task that the rule gives to the dispatcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DispatchCommand {
    /// Begins an attempt to post an event to the receiver.
    Send {
        /// The event to post.
        position: Position,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// The cause of the attempt.
        trigger: AttemptTrigger,
    },
    /// Records that another attempt follows.
    Retry {
        /// The event whose attempt has failed.
        position: Position,
        /// The time of the next attempt.
        due: Timestamp,
    },
    /// Records the end of a delivery.
    Settle {
        /// The event whose delivery has ended.
        position: Position,
        /// The state of the delivery.
        status: DeliveryStatus,
    },
    /// Disables the webhook for this reason. No attempt begins until it is enabled again.
    Disable(DisabledReason),
    /// Calls the rule with a tick at this time. It is the last command of a step, if attempts can begin without any other
    /// input.
    WakeAt(Timestamp),
}

impl From<&AttemptOutcome> for AttemptResult {
    fn from(outcome: &AttemptOutcome) -> Self {
        match outcome.error {
            None => Self::Delivered,
            Some(AttemptError::Status) if outcome.is_gone() => Self::Gone,
            Some(_) => {
                let answer = outcome.answer.as_ref().filter(|it| STATUS_WITH_WAIT.contains(&it.status));
                Self::Failed(answer.and_then(|answer| answer.wait))
            }
        }
    }
}

/// Applies an input to the progress of a webhook, and returns what the dispatcher does next.
pub fn dispatch_step(
    progress: &mut Progress,
    rules: &DeliveryRules,
    input: DispatchInput<'_>,
    now: Timestamp,
) -> Vec<DispatchCommand> {
    let mut commands = Vec::new();
    progress.bound_waits(now);
    match input {
        DispatchInput::Log { matching, scanned } => progress.take(matching, scanned),
        DispatchInput::Tick { attempts_max } => {
            for _ in 0..attempts_max {
                let is_due = |index: &usize| progress.next_attempt_at(&progress.pending[*index]) <= now;
                let Some(index) = progress.next(rules, now).filter(is_due) else { break };
                commands.push(progress.pending[index].begin());
            }
        }
        DispatchInput::Outcome { position, result } => {
            progress.outcome(rules, position, result, now, &mut commands);
        }
        DispatchInput::Dropped { position, trigger, pause } => {
            if let Ok(index) = progress.find(position) {
                let delivery = &mut progress.pending[index];
                delivery.is_in_flight = false;
                delivery.is_manual |= trigger == AttemptTrigger::Manual;
                (delivery.due, delivery.wait) = (now.plus(pause), pause);
            }
        }
        DispatchInput::Missing(position) => {
            if let Ok(index) = progress.find(position) {
                progress.pending.remove(index);
                commands.push(DispatchCommand::Settle { position, status: DeliveryStatus::Failed });
            }
        }
        DispatchInput::Redeliver { position, number } => progress.redeliver(position, number),
    }
    let next = progress.next(rules, now).map(|index| progress.next_attempt_at(&progress.pending[index]));
    commands.extend(next.map(DispatchCommand::WakeAt));
    commands
}

impl PendingDelivery {
    /// A delivery without an attempt. It is due at any time, so that a clock that steps back does not delay it.
    const fn new(position: Position) -> Self {
        Self {
            position,
            attempts: 0,
            due: Timestamp::MIN,
            wait: Duration::ZERO,
            is_in_flight: false,
            is_manual: false,
        }
    }

    const fn begin(&mut self) -> DispatchCommand {
        let trigger = if self.is_manual { AttemptTrigger::Manual } else { AttemptTrigger::Schedule };
        self.is_in_flight = true;
        self.is_manual = false;
        DispatchCommand::Send { position: self.position, attempt: self.attempts + 1, trigger }
    }
}

impl Progress {
    /// Brings forward the retries that are due later than their wait from now, because the clock was set back: such a retry
    /// waits once more as long as after its attempt, and no longer.
    fn bound_waits(&mut self, now: Timestamp) {
        for delivery in &mut self.pending {
            delivery.due = delivery.due.min(now.plus(delivery.wait));
        }
        for pause in self.asked.iter_mut().chain(&mut self.rest) {
            pause.bound(now);
        }
    }

    fn take(&mut self, matching: &[Position], scanned: Position) {
        for position in matching {
            // An event up to `scanned` has been taken before.
            if *position > self.scanned
                && let Err(index) = self.find(*position)
            {
                self.pending.insert(index, PendingDelivery::new(*position));
            }
        }
        self.scanned = self.scanned.max(scanned);
    }

    fn redeliver(&mut self, position: Position, number: u64) {
        if number <= self.redelivered {
            return;
        }
        self.redelivered = number;
        match self.find(position) {
            Ok(index) => {
                let delivery = &mut self.pending[index];
                (delivery.due, delivery.is_manual) = (Timestamp::MIN, true);
            }
            // An event that has not been read yet is delivered anyway.
            Err(_) if position > self.scanned => {}
            Err(index) => {
                let delivery = PendingDelivery { is_manual: true, ..PendingDelivery::new(position) };
                self.pending.insert(index, delivery);
            }
        }
    }

    /// The index of the delivery whose attempt begins next, now or later; none if no attempt may begin before the end of
    /// another one.
    fn next(&self, rules: &DeliveryRules, now: Timestamp) -> Option<usize> {
        if self.is_stopped || self.in_flight() >= self.window(rules) {
            return None;
        }
        if rules.ordering == DeliveryOrder::Strict {
            return (!self.pending.is_empty()).then_some(0);
        }
        let waiting = || self.pending.iter().enumerate().filter(|(_, delivery)| !delivery.is_in_flight);
        // The first of those that are due: only an attempt that was dropped makes another one overtake it.
        let manual = waiting().filter(|(_, delivery)| delivery.is_manual);
        let manual = manual.min_by_key(|(_, delivery)| delivery.due.max(now));
        let fresh = waiting().filter(|(_, delivery)| delivery.attempts == 0);
        let fresh = fresh.min_by_key(|(_, delivery)| delivery.due.max(now));
        let fresh = fresh.filter(|_| self.waiting_retries() < RETRIES_MAX);
        let retry = waiting().filter(|(_, delivery)| delivery.attempts > 0);
        let retry = retry.min_by_key(|(_, delivery)| delivery.due);
        let found = [manual, fresh, retry].into_iter().flatten();
        let found = found.min_by_key(|(_, delivery)| self.next_attempt_at(delivery).max(now));
        found.map(|(index, _)| index)
    }

    /// The number of attempts that may be in flight.
    const fn window(&self, rules: &DeliveryRules) -> usize {
        match rules.ordering {
            DeliveryOrder::Relaxed if self.failures < FAILURES_MAX => IN_FLIGHT_MAX,
            DeliveryOrder::Relaxed | DeliveryOrder::Strict => 1,
        }
    }

    fn outcome(
        &mut self,
        rules: &DeliveryRules,
        position: Position,
        result: AttemptResult,
        now: Timestamp,
        commands: &mut Vec<DispatchCommand>,
    ) {
        let Ok(index) = self.find(position) else { return };
        let delivery = &mut self.pending[index];
        if !delivery.is_in_flight {
            return;
        }
        delivery.is_in_flight = false;
        if result == AttemptResult::Delivered {
            self.pending.remove(index);
            (self.failures, self.failing_since, self.last_success_at) = (0, None, Some(now));
            self.rest = None;
            commands.push(DispatchCommand::Settle { position, status: DeliveryStatus::Delivered });
            return;
        }
        delivery.attempts += 1;
        let attempts = delivery.attempts;
        self.failures = self.failures.saturating_add(1);
        let failing_since = *self.failing_since.get_or_insert(now);
        let wait = match result {
            AttemptResult::Failed(wait) => wait.unwrap_or_default().min(RETRY_AFTER_MAX),
            AttemptResult::Delivered | AttemptResult::Gone => Duration::ZERO,
        };
        self.pause(rules, wait, now);
        if let Some(delay) = retry_delay(attempts) {
            let permille = if rules.has_jitter { retry_jitter(rules.webhook, position, attempts) } else { 0 };
            let wait = jittered(delay, permille).max(wait);
            let due = now.plus(wait);
            (self.pending[index].due, self.pending[index].wait) = (due, wait);
            commands.push(DispatchCommand::Retry { position, due });
        } else if rules.ordering == DeliveryOrder::Strict {
            // The event stays pending, so that it is the first one when the webhook is enabled again.
            let delivery = &mut self.pending[index];
            (delivery.attempts, delivery.due, delivery.wait) = (ATTEMPTS_MAX, now, Duration::ZERO);
            self.stop(DisabledReason::Exhausted, commands);
        } else {
            self.pending.remove(index);
            commands.push(DispatchCommand::Settle { position, status: DeliveryStatus::Failed });
            if now.since(failing_since) >= FAILING_MAX {
                self.stop(DisabledReason::Failing, commands);
            }
        }
        if result == AttemptResult::Gone {
            self.stop(DisabledReason::Gone, commands);
        }
    }

    /// Pauses the webhook after a failed attempt. The receiver has asked for this wait, which holds for all events.
    fn pause(&mut self, rules: &DeliveryRules, wait: Duration, now: Timestamp) {
        let asked = DeliveryPause::begin(now, wait);
        if !wait.is_zero() && self.asked.is_none_or(|longest| longest.until < asked.until) {
            self.asked = Some(asked);
        }
        let rest = failure_rest(self.failures).filter(|_| rules.has_jitter);
        self.rest = rest.map(|length| DeliveryPause::begin(now, length));
    }

    fn stop(&mut self, reason: DisabledReason, commands: &mut Vec<DispatchCommand>) {
        if !self.is_stopped {
            self.is_stopped = true;
            commands.push(DispatchCommand::Disable(reason));
        }
    }
}
