//! Bans that are in force and not recorded yet: the write-behind queue from the gate to the keys' records.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use petstore_domain::{Ban, BanKey, KeyId, KeyRecord, Timestamp};
use petstore_ports::{StoreError, Transactor, run};

use crate::call_deadlines::CallDeadlines;

/// Maximum number of bans that wait to be recorded. If the queue is full, a ban is offered again by the next request of
/// its key.
const PENDING_MAX: usize = 10_000;

/// Number of bans that are recorded concurrently, so that a store can commit them together.
const BATCH: usize = 64;

/// The pause after the first failure of the store. The pause doubles with each further failure.
const PAUSE_MIN: Duration = Duration::from_secs(1);

/// The longest pause between two attempts, so that bans are recorded soon after the store is available again.
const PAUSE_MAX: Duration = Duration::from_secs(8);

/// The result of an attempt to record the bans that wait.
#[derive(Debug, Default)]
pub struct BanWrites {
    /// Bans that have been recorded, or have turned out to be void.
    pub recorded: usize,
    /// The failure of the store, if it failed. The bans that were not recorded stay in the queue.
    pub failed: Option<StoreError>,
    /// The number of times since the last attempt that a ban was not queued because the queue was full. Such a ban is
    /// in force, but a restart forgets it.
    pub dropped: u64,
}

/// The store that bans are recorded in, with the deadlines of its calls.
#[derive(Clone, Copy)]
pub(crate) struct BanStore<'a> {
    pub(crate) transactor: &'a dyn Transactor,
    pub(crate) deadlines: &'a CallDeadlines,
}

/// The queue: at most one ban of each key.
#[derive(Default)]
pub(crate) struct PendingBans(Mutex<Pending>);

#[derive(Default)]
struct Pending {
    bans: HashMap<KeyId, Ban, foldhash::fast::RandomState>,
    /// The number of times since the start that the queue was full.
    dropped: u64,
    /// The part of `dropped` that was reported to the caller.
    dropped_told: u64,
    pause: Duration,
    /// The earliest time of the next attempt after a failure of the store, measured by [`CallDeadlines::elapsed`].
    retry_at: Duration,
}

impl PendingBans {
    /// Queues a ban, unless the queue is full.
    pub(crate) fn add(&self, key: KeyId, ban: Ban) {
        let mut pending = self.lock();
        if pending.bans.len() >= PENDING_MAX && !pending.bans.contains_key(&key) {
            pending.dropped += 1;
            return;
        }
        let queued = pending.bans.entry(key).or_insert(ban);
        if ban.outlasts(Some(*queued)) {
            *queued = ban;
        }
    }

    /// Returns whether a ban of this key waits to be recorded and is in force. A ban is no longer in force if the key's
    /// last lift (`lifted_at`) was at the start of the ban or later.
    pub(crate) fn is_waiting(&self, key: KeyId, lifted_at: Option<Timestamp>, now: Timestamp) -> bool {
        let waiting = self.lock().bans.get(&key).copied();
        waiting.is_some_and(|ban| ban.in_force(now) && lifted_at.is_none_or(|lift| lift < ban.since))
    }

    /// Adds the ban that waits to be recorded, if any, to the record of its key.
    pub(crate) fn show_in(&self, record: &mut KeyRecord) {
        if let Some(ban) = self.lock().bans.get(&record.id) {
            record.record_ban(*ban);
        }
    }

    /// Records the ban of this key, if one waits to be recorded.
    pub(crate) async fn record_one(&self, store: BanStore<'_>, key: KeyId) -> Result<(), StoreError> {
        let waits = self.lock().bans.get(&key).copied();
        match waits {
            Some(ban) => self.record(store, key, ban).await,
            None => Ok(()),
        }
    }

    /// Records all bans that wait, unless the pause after a failure of the store has not ended.
    pub(crate) async fn record_due(&self, store: BanStore<'_>) -> BanWrites {
        let is_due = self.lock().retry_at <= store.deadlines.elapsed();
        let writes = if is_due { self.record_all(store).await } else { self.take_dropped() };
        if is_due {
            let mut pending = self.lock();
            pending.pause = match writes.failed {
                Some(_) => pending.pause.saturating_mul(2).clamp(PAUSE_MIN, PAUSE_MAX),
                None => Duration::ZERO,
            };
            pending.retry_at = store.deadlines.elapsed().saturating_add(pending.pause);
        }
        writes
    }

    /// Records all bans that wait, in batches. Stops after a batch of which the store has recorded no ban.
    pub(crate) async fn record_all(&self, store: BanStore<'_>) -> BanWrites {
        let mut writes = self.take_dropped();
        let waiting: Vec<(KeyId, Ban)> = self.lock().bans.iter().map(|(key, ban)| (*key, *ban)).collect();
        for batch in waiting.chunks(BATCH) {
            let calls = batch.iter().map(|(key, ban)| Box::pin(self.record(store, *key, *ban)) as Call<'_>);
            let mut recorded = 0;
            for outcome in join(calls.collect()).await {
                match outcome {
                    Ok(()) => recorded += 1,
                    Err(error) => writes.failed = Some(error),
                }
            }
            writes.recorded += recorded;
            if recorded == 0 {
                break;
            }
        }
        writes
    }

    async fn record(&self, store: BanStore<'_>, key: KeyId, ban: Ban) -> Result<(), StoreError> {
        // The result is ignored, because a rejection means that the key no longer exists and needs no ban.
        let _: Result<KeyRecord, _> =
            store.deadlines.write(pin!(run(store.transactor, BanKey { id: key, ban }, ban.since))).await?;
        let mut pending = self.lock();
        if pending.bans.get(&key) == Some(&ban) {
            pending.bans.remove(&key);
        }
        Ok(())
    }

    fn take_dropped(&self) -> BanWrites {
        let mut pending = self.lock();
        let dropped = pending.dropped - pending.dropped_told;
        pending.dropped_told = pending.dropped;
        BanWrites { dropped, ..BanWrites::default() }
    }

    /// The number of bans that wait, and the number of times since the start that a ban was dropped.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let pending = self.lock();
        (pending.bans.len() as u64, pending.dropped)
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Call<'a> = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send + 'a>>;

/// Runs calls concurrently, and returns their outcomes once all have ended.
async fn join(calls: Vec<Call<'_>>) -> Vec<Result<(), StoreError>> {
    let mut running = calls;
    let mut outcomes = Vec::with_capacity(running.len());
    poll_fn(|context| {
        running.retain_mut(|call| match call.as_mut().poll(context) {
            Poll::Ready(outcome) => {
                outcomes.push(outcome);
                false
            }
            Poll::Pending => true,
        });
        if running.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    outcomes
}

#[cfg(test)]
mod tests {
    use petstore_domain::{BanPolicy, Timestamp};

    use super::*;

    #[test]
    fn a_ban_that_finds_the_queue_full_is_counted_and_told_once() {
        let bans = PendingBans::default();
        let ban = BanPolicy::DEFAULT.next_ban(None, None, Timestamp::EPOCH);
        let add = |key: usize| bans.add(KeyId::new(key as u64).unwrap(), ban);
        (1..=PENDING_MAX).for_each(add);
        assert_eq!(bans.counts(), (PENDING_MAX as u64, 0));
        add(1);
        assert_eq!(bans.counts().1, 0, "the ban of a key that waits already needs no place");
        (PENDING_MAX + 1..=PENDING_MAX + 3).for_each(add);
        assert_eq!(bans.counts(), (PENDING_MAX as u64, 3));
        assert_eq!((bans.take_dropped().dropped, bans.take_dropped().dropped), (3, 0));
    }

    #[test]
    fn a_later_ban_of_a_key_takes_the_place_of_the_one_that_waits() {
        let bans = PendingBans::default();
        let ban =
            |secs| BanPolicy::DEFAULT.next_ban(None, None, Timestamp::EPOCH.plus(Duration::from_secs(secs)));
        for secs in [0, 200, 100] {
            bans.add(KeyId::FIRST, ban(secs));
        }
        assert_eq!(bans.lock().bans.get(&KeyId::FIRST), Some(&ban(200)));
    }
}
