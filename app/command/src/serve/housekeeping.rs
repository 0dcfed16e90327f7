//! The work that is due at the start and in intervals.

use std::sync::Arc;
use std::time::Duration;

use petstore_domain::Timestamp;
use petstore_ports::Clock;

use crate::log::Log;
use crate::sandbox;
use crate::settings::Db;
use crate::store::Backend;

/// How often counts and bans are noted, and what has expired is dropped. A crash forgets what was counted since then and
/// while it was being noted: with a whole second it was up to 1.02 s on a busy machine, and a second is promised.
const HOUSEKEEPING: Duration = Duration::from_millis(500);

/// How far ahead of the clock windows and bans may be that a start goes on with. A clock that steps back grants nothing; but
/// after one that was years ahead, as on a machine whose battery is empty, accounts would be locked out for as long.
const CLOCK_AHEAD_MAX: Duration = Duration::from_hours(7 * 24);

/// No clock that is right shows a time before this program was written: 2026-11-01, from 1970 on.
const WRITTEN: Duration = Duration::from_hours(20_758 * 24);

/// Forgets usage and bans of a clock that was ahead, unless it is this one that is behind, as on a machine that does not
/// know the time yet. A sandbox's may have been turned, and goes with the machine's from now on.
pub(super) fn forget_future_usage(backend: &Backend, db: &Db, now: Timestamp, log: &Log) {
    let is_sandbox = sandbox::is_marked(db);
    if now < Timestamp::EPOCH.plus(WRITTEN) && !is_sandbox {
        return;
    }
    let tolerated = if is_sandbox { Duration::ZERO } else { CLOCK_AHEAD_MAX };
    let accounts = backend.forget_usage_after(now.plus(tolerated));
    if accounts > 0 && !is_sandbox {
        log.warn(&format!(
            "the clock was ahead by more than a week when {} last counted: what was used is forgotten",
            if accounts == 1 { "1 account was".to_owned() } else { format!("{accounts} accounts were") }
        ));
    }
}

pub(super) async fn run_housekeeping(backend: Arc<Backend>, clock: Arc<dyn Clock>, log: Arc<Log>) {
    let (mut fault, mut refused) = (None, None);
    let mut ticks = tokio::time::interval(HOUSEKEEPING);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        // What could not be dropped now is dropped later.
        let _ = backend.housekeeping().prune(clock.now()).await;
        // Where no client asks for a change, nothing else brings the storage engine's words into the log.
        let why = backend.disk_fault();
        if why != refused {
            match &why {
                Some(why) => log.complain(&format!("changes are refused: {}", why.report())),
                None => log.say("changes are taken again"),
            }
            refused = why;
        }
        let now = backend.log_fault();
        if now != fault {
            // Nothing is refused for that yet, so nobody else would say it.
            match &now {
                Some(fault) => {
                    log.complain(&format!("the data file's log grows, and nothing is lost: {fault}"));
                }
                None => log.say("the data file's log is copied again"),
            }
            fault = now;
        }
    }
}
