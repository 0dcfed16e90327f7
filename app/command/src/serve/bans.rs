//! The recording of bans that the gate has decided, outside of the requests.

use std::sync::Arc;

use petstore_ports::StoreErrorKind;
use petstore_service::{BanWrites, Service};

use super::housekeeping::HOUSEKEEPING;
use crate::log::Log;

/// Records the bans that the gate has decided. If the store hangs, only this task is delayed.
pub(super) async fn record_bans(service: Arc<Service>, log: Arc<Log>) {
    let mut is_failing = false;
    let mut ticks = tokio::time::interval(HOUSEKEEPING);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let writes = service.record_bans().await;
        log_dropped_bans(&writes, &log);
        is_failing &= writes.recorded == 0 && service.figures().bans_waiting > 0;
        if let Some(error) = writes.failed.filter(|error| error.kind() != StoreErrorKind::Busy)
            && !is_failing
        {
            is_failing = true;
            log.error(&format!(
                "bans cannot be recorded now; until they are, a restart forgets them: {}",
                error.report()
            ));
        }
    }
}

/// Records the bans that are not recorded yet when the server ends.
pub(super) async fn record_last_bans(service: &Service, log: &Log) {
    let writes = service.record_all_bans().await;
    log_dropped_bans(&writes, log);
    if let Some(error) = &writes.failed {
        log.error(&format!("bans cannot be recorded, and are forgotten: {}", error.report()));
    }
}

fn log_dropped_bans(writes: &BanWrites, log: &Log) {
    if writes.dropped > 0 {
        log.warn(&format!(
            "too many bans wait to be recorded: {} more are in force until a restart",
            writes.dropped
        ));
    }
}
