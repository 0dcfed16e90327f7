//! A webhook whose events this dispatcher delivers.

use std::time::Duration;

use futures_util::future::{AbortHandle, AbortRegistration};
use petstore_domain::{
    AccountId, Attempt, AttemptResult, AttemptTrigger, DeliveryRules, DeliveryStatus, DeliveryUpdate,
    DisabledReason, DispatchCommand, DispatchInput, EventFilter, EventId, EventKind, EventKinds, Position,
    Progress, Timestamp, Webhook, dispatch_step,
};
use petstore_ports::{ClaimedWebhook, DeliveryLease, LogEnd};

use super::attempt::AttemptId;
use super::bounds::{DAMAGE_PAUSE, POSITIONS_MAX};

/// The state of a webhook under a lease.
#[expect(clippy::struct_excessive_bools, reason = "they are independent of each other")]
pub(super) struct Endpoint {
    pub(super) account: AccountId,
    pub(super) webhook: Webhook,
    pub(super) lease: DeliveryLease,
    pub(super) progress: Progress,
    pub(super) filter: EventFilter,
    rules: DeliveryRules,
    /// Changes of deliveries since the last save.
    pub(super) updates: Vec<DeliveryUpdate>,
    /// `true` if the progress has changed since the last save.
    pub(super) is_dirty: bool,
    /// `true` while a save is in progress.
    pub(super) is_saving: bool,
    /// The time of the last save.
    pub(super) saved_at: Timestamp,
    /// `true` if all events up to the head of the reader have been looked at.
    pub(super) is_caught_up: bool,
    /// `true` while the log is read for this webhook alone.
    pub(super) is_reading: bool,
    /// The reason for which it is to be disabled.
    pub(super) disable: Option<DisabledReason>,
    /// `true` while it is being disabled.
    pub(super) is_disabling: bool,
    /// The attempts in flight, by the number of the attempt.
    flights: Vec<(u64, AbortHandle)>,
    /// The number of the last attempt that began before the address was changed.
    old_receiver: Option<u64>,
    /// The time before which the log is not read for this webhook, because the log is damaged where it is.
    pub(super) read_after: Timestamp,
    /// The number of positions that a page for this webhook alone reads: fewer where the log is damaged.
    pub(super) positions_max: u64,
    /// The types of events that were taken up to a position before the webhook got further types and the log was read again:
    /// at most [`TAKEN_MAX`](super::bounds::TAKEN_MAX) of them.
    pub(super) taken_before: Vec<(EventKinds, Position)>,
    /// `true` if the next events of the log cannot be read.
    is_log_damaged: bool,
    /// A pending event that cannot be read.
    damaged_event: Option<Position>,
}

/// An attempt that begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sending {
    pub(super) number: u64,
    pub(super) position: Position,
    pub(super) attempt: u32,
    pub(super) trigger: AttemptTrigger,
}

impl Endpoint {
    pub(super) fn new(
        account: AccountId,
        webhook: Webhook,
        claimed: ClaimedWebhook,
        has_jitter: bool,
        now: Timestamp,
    ) -> Self {
        let start = webhook.run.after.unwrap_or(EventId { epoch: 0, position: Position::START });
        let fresh = || Progress::new(webhook.run.number, start.epoch, start.position);
        let progress = claimed.progress.map_or_else(fresh, Progress::resumed);
        let mut endpoint = Self {
            account,
            filter: EventFilter { kinds: webhook.types.kinds(), account: Some(account) },
            rules: DeliveryRules { webhook: webhook.id, ordering: webhook.ordering, has_jitter },
            webhook,
            lease: claimed.lease,
            progress,
            updates: Vec::new(),
            is_dirty: false,
            is_saving: false,
            saved_at: now,
            is_caught_up: false,
            is_reading: false,
            disable: None,
            is_disabling: false,
            flights: Vec::new(),
            old_receiver: None,
            read_after: Timestamp::MIN,
            positions_max: POSITIONS_MAX,
            taken_before: Vec::new(),
            is_log_damaged: false,
            damaged_event: None,
        };
        endpoint.is_dirty = endpoint.progress.follow_receiver(&endpoint.webhook.url);
        endpoint.catch_up_on_types();
        endpoint.follow(now);
        endpoint
    }

    /// Takes the webhook's new settings. Returns the number of attempts in flight that were cancelled, because the deliveries
    /// begin elsewhere.
    ///
    /// Events after `confirmed` may have happened under the new settings. Those of types that the webhook did not get before
    /// were left out, so the log is read from there again.
    pub(super) fn change(&mut self, webhook: Webhook, confirmed: LogEnd, now: Timestamp) -> usize {
        let before = std::mem::replace(&mut self.filter.kinds, webhook.types.kinds());
        if before.or(self.filter.kinds) != before {
            self.read_again(before, confirmed);
        }
        self.rules.ordering = webhook.ordering;
        if self.webhook.url != webhook.url {
            // Another receiver has not asked for a pause, and neither does an attempt in flight ask for it.
            self.progress.forget_receiver();
            self.progress.note_receiver(&webhook.url);
            self.old_receiver = self.flights.iter().map(|(number, _)| *number).max().or(self.old_receiver);
            self.is_dirty = true;
        }
        self.webhook = webhook;
        if self.is_ending() {
            self.progress.is_stopped = true;
            return 0;
        }
        self.follow(now)
    }

    /// Returns whether it gets no more attempts, and is released once those in flight have ended.
    pub(super) const fn is_ending(&self) -> bool {
        !self.webhook.is_enabled()
    }

    /// Returns whether all events up to the head have been looked at.
    pub(super) fn is_up_to(&self, head: LogEnd) -> bool {
        self.progress.epoch == head.epoch && self.progress.scanned >= head.last
    }

    /// Joins the webhooks at the head if it has reached the head. Returns whether it is one of them.
    pub(super) fn join(&mut self, head: LogEnd) -> bool {
        self.is_caught_up |= !self.is_reading && !self.progress.is_stopped && self.is_up_to(head);
        self.is_caught_up
    }

    /// Removes it from the webhooks at the head, which have looked at all events up to the head.
    pub(super) fn leave_head(&mut self, head: LogEnd) {
        self.look_up_to(head);
        self.is_caught_up = false;
    }

    /// Records how far the log was read for it, if that was done together with others.
    pub(super) fn look_up_to(&mut self, head: LogEnd) {
        if self.is_caught_up && self.progress.epoch == head.epoch {
            self.progress.scanned = self.progress.scanned.max(head.last);
        }
    }

    /// Follows a start of deliveries and takes requests for single events. Returns the number of attempts that were cancelled.
    fn follow(&mut self, now: Timestamp) -> usize {
        let mut cancelled = 0;
        if self.progress.run < self.webhook.run.number {
            if self.webhook.run.after.is_some() {
                cancelled = self.cancel();
                self.taken_before.clear();
            }
            self.progress.follow(&self.webhook.run);
            (self.disable, self.is_caught_up, self.is_dirty) = (None, false, true);
            self.begin_reading();
        }
        let requests = self.webhook.redeliveries.iter();
        let (taken, epoch) = (self.progress.redelivered, self.progress.epoch);
        let new: Vec<_> = requests.filter(|request| request.number > taken).copied().collect();
        for request in new {
            let position = request.event.position;
            // A request for an event of an older log is void.
            if request.event.epoch == epoch {
                self.step(DispatchInput::Redeliver { position, number: request.number }, now);
            }
            self.progress.redelivered = self.progress.redelivered.max(request.number);
            self.is_dirty = true;
        }
        cancelled
    }

    /// Cancels all attempts in flight, and returns their number.
    pub(super) fn cancel(&mut self) -> usize {
        let flights = std::mem::take(&mut self.flights);
        for (_, handle) in &flights {
            handle.abort();
        }
        flights.len()
    }

    /// Notes that an attempt has ended. Returns `false` if it was cancelled before.
    pub(super) fn land(&mut self, number: u64) -> bool {
        let place = self.flights.iter().position(|(other, _)| *other == number);
        place.map(|place| self.flights.swap_remove(place)).is_some()
    }

    /// Applies an input. Keeps a reason to disable, and returns the other commands.
    fn step(&mut self, input: DispatchInput<'_>, now: Timestamp) -> Vec<DispatchCommand> {
        let mut commands = dispatch_step(&mut self.progress, &self.rules, input, now);
        commands.retain(|command| match command {
            DispatchCommand::Disable(reason) => {
                self.disable = Some(*reason);
                false
            }
            DispatchCommand::Send { .. }
            | DispatchCommand::Retry { .. }
            | DispatchCommand::Settle { .. }
            | DispatchCommand::WakeAt(_) => true,
        });
        commands
    }

    /// Takes events from the log, and returns the time of the next attempt.
    pub(super) fn read(
        &mut self,
        matching: &[Position],
        scanned: Position,
        now: Timestamp,
    ) -> Option<Timestamp> {
        self.is_dirty |= !matching.is_empty();
        if self.is_log_damaged {
            self.is_log_damaged = false;
            self.note_damage();
        }
        wake_of(&self.step(DispatchInput::Log { matching, scanned }, now))
    }

    /// Begins an attempt if one is due, and returns it with the time of the next one.
    pub(super) fn send(
        &mut self,
        number: u64,
        now: Timestamp,
    ) -> (Option<(Sending, AbortRegistration)>, Option<Timestamp>) {
        let commands = self.step(DispatchInput::Tick { attempts_max: 1 }, now);
        let sending = commands.iter().find_map(|command| match command {
            DispatchCommand::Send { position, attempt, trigger } => {
                Some(Sending { number, position: *position, attempt: *attempt, trigger: *trigger })
            }
            _ => None,
        });
        let begun = sending.map(|sending| {
            let (handle, registration) = AbortHandle::new_pair();
            self.flights.push((number, handle));
            (sending, registration)
        });
        (begun, wake_of(&commands))
    }

    /// The time of the next attempt.
    pub(super) fn wake(&mut self, now: Timestamp) -> Option<Timestamp> {
        wake_of(&self.step(DispatchInput::Tick { attempts_max: 0 }, now))
    }

    /// Applies the result of an attempt, and returns the time of the next one.
    pub(super) fn attempted(
        &mut self,
        of: AttemptId,
        kind: EventKind,
        attempt: Attempt,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let position = of.position;
        let result = match AttemptResult::from(&attempt.outcome) {
            AttemptResult::Failed(_) if Some(of.number) <= self.old_receiver => AttemptResult::Failed(None),
            result => result,
        };
        let commands = self.step(DispatchInput::Outcome { position, result }, now);
        self.progress.note_receiver(&self.webhook.url);
        let event = self.event(position);
        let mut update = DeliveryUpdate {
            event,
            kind,
            attempt: Some(attempt),
            status: DeliveryStatus::Pending,
            next_attempt_at: None,
            at: now,
        };
        for command in &commands {
            match command {
                DispatchCommand::Settle { status, .. } => update.status = *status,
                DispatchCommand::Retry { due, .. } => update.next_attempt_at = Some(*due),
                DispatchCommand::Send { .. } | DispatchCommand::Disable(_) | DispatchCommand::WakeAt(_) => {}
            }
        }
        self.updates.push(update);
        self.is_dirty = true;
        self.note_end(position);
        wake_of(&commands)
    }

    /// Takes back an attempt whose request was not sent. It may begin again after a pause.
    pub(super) fn dropped(&mut self, of: AttemptId, pause: Duration, now: Timestamp) {
        let (position, trigger) = (of.position, of.trigger);
        self.step(DispatchInput::Dropped { position, trigger, pause }, now);
    }

    /// Takes back an attempt whose event cannot be read. It is tried again after a pause, and the others go on.
    pub(super) fn unreadable_event(&mut self, of: AttemptId, now: Timestamp) {
        self.dropped(of, DAMAGE_PAUSE, now);
        self.damaged_event = Some(of.position);
        self.note_damage();
    }

    /// Notes that the next events of the log cannot be read. It is tried again after a pause.
    pub(super) fn unreadable_log(&mut self, now: Timestamp) {
        self.is_log_damaged = true;
        self.read_after = now.plus(DAMAGE_PAUSE);
        self.note_damage();
    }

    fn note_damage(&mut self) {
        let is_unreadable = self.is_log_damaged || self.damaged_event.is_some();
        self.is_dirty |= self.progress.is_unreadable != is_unreadable;
        self.progress.is_unreadable = is_unreadable;
    }

    /// Forgets damage of the log at the place where it was read before.
    fn begin_reading(&mut self) {
        (self.is_log_damaged, self.damaged_event, self.read_after) = (false, None, Timestamp::MIN);
        self.note_damage();
    }

    /// Ends the delivery of an event that is no longer in the log.
    pub(super) fn missing(&mut self, position: Position, now: Timestamp) -> Option<Timestamp> {
        let commands = self.step(DispatchInput::Missing(position), now);
        self.is_dirty = true;
        self.note_end(position);
        wake_of(&commands)
    }

    /// Notes that an event is not damaged: it was read, or it is no longer in the log.
    fn note_end(&mut self, position: Position) {
        if self.damaged_event == Some(position) || self.progress.pending.is_empty() {
            self.damaged_event = None;
            self.note_damage();
        }
    }

    /// Begins at the start of another event log. Deliveries of the old log cannot be completed.
    pub(super) fn restart(&mut self, epoch: u64, after: Position) {
        if self.progress.pending.is_empty() {
            (self.progress.epoch, self.progress.scanned) = (epoch, after);
            self.taken_before.clear();
            self.is_dirty = true;
        } else {
            self.fall_behind();
        }
    }

    /// Disables the webhook because events are missing.
    pub(super) fn fall_behind(&mut self) {
        self.progress.is_stopped = true;
        self.disable = Some(DisabledReason::FellBehind);
    }

    pub(super) fn event(&self, position: Position) -> EventId {
        EventId { epoch: self.progress.epoch, position }
    }
}

fn wake_of(commands: &[DispatchCommand]) -> Option<Timestamp> {
    commands.iter().find_map(|command| match command {
        DispatchCommand::WakeAt(time) => Some(*time),
        _ => None,
    })
}
