//! Work that the server does at its start and at intervals.

use std::sync::Arc;
use std::time::Duration;

use petstore_domain::Timestamp;
use petstore_ports::Clock;
use petstore_service::Service;

use super::fault_log::{FaultChange, FaultLog};
use crate::log::Log;
use crate::plural::counted;
use crate::sandbox;
use crate::settings::Db;
use crate::store::{Backend, ClockFaultKind};

/// The interval at which usage and bans are stored and expired records are dropped. A crash loses the counts of one
/// interval. A crash may lose only the counts of less than a second, so the interval is shorter than a second.
pub(super) const HOUSEKEEPING: Duration = Duration::from_millis(500);

/// Usage and bans whose time is further ahead of the clock than this are forgotten at the start. With a shorter
/// difference they are kept, so that a clock that steps back grants no additional requests. A longer difference comes
/// from a clock that was wrong when they were recorded, for example because its battery was empty. If such usage were
/// kept, it could lock accounts out for years.
const CLOCK_AHEAD_MAX: Duration = Duration::from_hours(7 * 24);

/// 2026-11-01, as the time since 1970. A clock that shows an earlier time is wrong, because this program did not exist
/// then.
const WRITTEN: Duration = Duration::from_hours(20_758 * 24);

/// Forgets usage and bans that a clock in the future recorded, unless the present clock is wrong, as on a machine that
/// has not synchronised yet. The clock of a sandbox may have been set, so its records are always compared with the
/// machine's clock.
pub(super) fn forget_future_usage(backend: &Backend, db: &Db, now: Timestamp, log: &Log) {
    let is_sandbox = sandbox::is_marked(db, backend);
    if now < Timestamp::EPOCH.plus(WRITTEN) && !is_sandbox {
        return;
    }
    let tolerated = if is_sandbox { Duration::ZERO } else { CLOCK_AHEAD_MAX };
    let accounts = match backend.forget_usage_after(now.plus(tolerated)) {
        Ok(accounts) => accounts,
        Err(error) => {
            log.warn(&format!("usage of a clock that was ahead cannot be forgotten: {}", error.report()));
            return;
        }
    };
    if accounts > 0 && !is_sandbox {
        log.warn(&format!(
            "the clock was more than a week ahead when the usage of {} was recorded: that usage is forgotten",
            counted(accounts as u64, "account")
        ));
    }
}

fn intervals() -> tokio::time::Interval {
    let mut ticks = tokio::time::interval(HOUSEKEEPING);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    ticks
}

/// Stores usage and drops expired records in intervals, also after a failure. `watch_store` logs the failure.
pub(super) async fn run_housekeeping(backend: Arc<Backend>, clock: Arc<dyn Clock>) {
    let mut ticks = intervals();
    loop {
        ticks.tick().await;
        let _ = backend.housekeeping().note_usage().await;
        let _ = backend.housekeeping().drop_expired(clock.now()).await;
    }
}

/// Watches the store and logs its faults. This is a task separate from `run_housekeeping`, whose calls may hang with
/// the store.
pub(super) async fn watch_store(
    backend: Arc<Backend>,
    service: Arc<Service>,
    clock: Arc<dyn Clock>,
    log: Arc<Log>,
) {
    let (mut fault, mut faulty, mut unfit, mut clock_kind) = (None, None, None, None);
    let (mut quota_faults, mut quota_warnings) = (FaultLog::new(), FaultLog::new());
    let mut ticks = intervals();
    loop {
        ticks.tick().await;
        log.count_failures_left_out();
        // The result is not needed. The store keeps an error of the journal, and the health check reports a call that
        // does not return.
        let _ = backend.housekeeping().watch(clock.now()).await;
        // Without requests, nothing else would log the error of the storage engine.
        let now_faulty = backend.fault().map(|why| (why, backend.refuses_changes()));
        if now_faulty != faulty {
            match (&now_faulty, &faulty) {
                (Some((why, true)), _) => log.error(&format!("changes are refused: {}", why.report())),
                (Some((why, false)), _) => {
                    log.error(&format!("not ready, although changes are accepted: {}", why.report()));
                }
                (None, Some((_, false))) => log.info("ready again"),
                (None, _) => log.info("changes are accepted again"),
            }
            faulty = now_faulty;
        }
        for damage in backend.take_damage() {
            log.error(&format!(
                "the data is damaged, and the rest is served: {}; {}",
                damage.reason(),
                backend.damage_advice()
            ));
        }
        for notice in backend.take_notices() {
            if notice.is_loss { log.error(&notice.text) } else { log.info(&notice.text) }
        }
        let now_unfit = backend.unfit();
        if now_unfit != unfit {
            match now_unfit {
                Some(why) => log.error(&format!("not ready: {why}")),
                None => log.info("ready again"),
            }
            unfit = now_unfit;
        }
        let clock_fault = backend.clock_fault();
        let kind = clock_fault.map(|fault| fault.kind);
        if kind != clock_kind {
            match clock_fault {
                Some(fault) if fault.kind == ClockFaultKind::Wrong => log.error(&fault.to_string()),
                Some(fault) => log.warn(&fault.to_string()),
                None => log.info("the clocks of this node and of PostgreSQL agree again"),
            }
            clock_kind = kind;
        }
        // The connections to Redis notice an outage without requests, too.
        match quota_faults.note(backend.redis_fault().or_else(|| service.quota_fault())) {
            Some(FaultChange::Began(error)) => {
                log.error(&format!("the quota store is down: {}", error.report()));
            }
            Some(FaultChange::Ended) => log.info("the quota store answers again"),
            None => {}
        }
        match quota_warnings.note(backend.redis_warning()) {
            Some(FaultChange::Began(error)) => {
                log.error(&format!("this node is not ready: {}", error.reason()));
            }
            Some(FaultChange::Ended) => log.info("the fault of Redis or of its clock is over"),
            None => {}
        }
        let now = backend.log_fault();
        if now != fault {
            // A log that grows does not make any change fail, so no other message reports this fault.
            match &now {
                Some(fault) => {
                    log.error(&format!("the -wal is not checkpointed and grows; no change is lost: {fault}"));
                }
                None => log.info("the -wal is checkpointed again"),
            }
            fault = now;
        }
    }
}
