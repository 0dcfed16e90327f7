//! The profile of a seed. A seed has only some kinds of faults, because frequent faults would hide the effects of rare
//! ones.

use std::time::Duration;

use petstore_tests::Random;

use crate::link::LinkConditions;

/// The parameters of one run.
#[derive(Debug, Clone)]
pub(crate) struct Profile {
    /// The wall clock at the start, in milliseconds since the epoch.
    pub(crate) begins: i64,
    pub(crate) lasts: Duration,
    pub(crate) clients: u64,
    pub(crate) conditions: LinkConditions,
    /// The connection of one request in this many is broken. With 0, no connection is broken.
    pub(crate) cut_once_in: u32,
    /// The mean time between two ends of a process; none if no process ends during the run. The next two fields have
    /// the same meaning for faults of the disk and for jumps of the clock.
    pub(crate) between_ends: Option<Duration>,
    pub(crate) between_disk_faults: Option<Duration>,
    pub(crate) between_clock_steps: Option<Duration>,
    pub(crate) between_commands: Duration,
    /// The mean time between two sessions of a client.
    pub(crate) rest: Duration,
    pub(crate) in_flight_max: u32,
    pub(crate) address_limit: u32,
    pub(crate) strikes: Option<u32>,
    /// `true` if accounts have webhooks. Such a run is short, because its dispatcher works five times a second.
    pub(crate) has_webhooks: bool,
}

/// 2030-06-15T00:00:00Z.
const JUNE_15: i64 = 1_907_712_000_000;

/// The maximum length of a run with webhooks.
const WITH_WEBHOOKS: Duration = Duration::from_mins(40);

const HOUR: i64 = 60 * 60 * 1_000;

impl Profile {
    pub(crate) fn of(random: &mut Random) -> Self {
        let minutes = |random: &mut Random, first, last| {
            Duration::from_secs(60 * u64::try_from(random.within(first, last)).expect("not negative"))
        };
        let begins = match random.below(4) {
            0 => crate::oracle::SUNSET - random.within(0, 3 * HOUR),
            // The run begins shortly before a midnight.
            1 => JUNE_15 - random.within(0, 2 * HOUR),
            _ => JUNE_15 + i64::from(random.below(150)) * 24 * HOUR + random.within(0, 24 * HOUR),
        };
        let latency = *random.pick(&[100, 1_000, 20_000, 100_000]);
        let conditions = LinkConditions {
            latency: Duration::from_micros(latency),
            jitter: Duration::from_micros(latency),
            split_once_in: *random.pick(&[0, 20, 3]),
            stall_once_in: *random.pick(&[0, 0, 400]),
        };
        let cut_once_in = *random.pick(&[0, 200, 30, 8]);
        let sometimes = |random: &mut Random| {
            let often = minutes(random, 2, 40);
            (!random.once_in(3)).then_some(often)
        };
        let profile = Self {
            begins,
            lasts: minutes(random, 20, 150),
            clients: u64::from(2 + random.below(7)),
            conditions,
            cut_once_in,
            between_ends: sometimes(random),
            between_disk_faults: sometimes(random),
            between_clock_steps: sometimes(random),
            between_commands: minutes(random, 1, 20),
            rest: minutes(random, 1, 6),
            in_flight_max: *random.pick(&[100, 100, 1]),
            address_limit: *random.pick(&[300, 8]),
            strikes: *random.pick(&[None, None, Some(3)]),
            has_webhooks: random.once_in(3),
        };
        let lasts = if profile.has_webhooks { profile.lasts.min(WITH_WEBHOOKS) } else { profile.lasts };
        Self { lasts, ..profile }
    }
}

/// An exponentially distributed time with this mean.
pub(crate) fn exponential(random: &mut Random, mean: Duration) -> Duration {
    let share = f64::from(random.below(1_000_000) + 1) / 1_000_001.0;
    mean.mul_f64(-share.ln())
}
