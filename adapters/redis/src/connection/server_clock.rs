//! The clock of the server, as measured over a connection.
//!
//! Time is an argument: instants come from a clock that never steps, and are only compared with each other.

use std::time::Duration;

use petstore_domain::Timestamp;
use redis::Value;
use tokio::time::Instant;

/// Number of measurements from which the median is taken: two of them may be disturbed.
pub(super) const SAMPLES: usize = 5;

/// A command `TIME` and its reply.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClockSample {
    pub(super) sent: Instant,
    pub(super) received: Instant,
    /// The time in the reply, in microseconds since 1970.
    pub(super) shown: i64,
}

/// The time that the server's clock showed at an instant.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServerClock {
    at: Instant,
    /// In microseconds since 1970.
    shown: i64,
}

impl ClockSample {
    /// Reads the reply to `TIME`: seconds and microseconds. None if the reply is something else.
    pub(super) fn read(sent: Instant, received: Instant, reply: &Value) -> Option<Self> {
        let Value::Array(parts) = reply else { return None };
        let number = |part: &Value| match part {
            Value::BulkString(digits) => std::str::from_utf8(digits).ok()?.parse::<i64>().ok(),
            _ => None,
        };
        let [seconds, micros] = &parts[..] else { return None };
        let shown = number(seconds)?.checked_mul(1_000_000)?.checked_add(number(micros)?)?;
        Some(Self { sent, received, shown })
    }

    /// The time that the server's clock showed at this instant, if the reply took as long as the command.
    fn shown_at(&self, at: Instant) -> i64 {
        let middle = self.sent + self.received.saturating_duration_since(self.sent) / 2;
        self.shown.saturating_add(micros_between(middle, at))
    }
}

impl ServerClock {
    /// The median of measurements; none without a measurement.
    pub(super) fn of(samples: &[ClockSample]) -> Option<Self> {
        let at = samples.first()?.sent;
        let mut shown: Vec<i64> = samples.iter().map(|sample| sample.shown_at(at)).collect();
        shown.sort_unstable();
        Some(Self { at, shown: shown[shown.len() / 2] })
    }

    /// The time by the server's clock at an instant.
    pub(super) fn time_at(&self, now: Instant) -> Timestamp {
        let millis = self.shown.saturating_add(micros_between(self.at, now)).div_euclid(1_000);
        let millis = millis.clamp(Timestamp::MIN.as_millis(), Timestamp::MAX.as_millis());
        Timestamp::from_millis(millis).unwrap_or(Timestamp::EPOCH)
    }

    /// The difference of a clock that shows `shown` at an instant, in milliseconds: positive if it is ahead of the
    /// server's clock.
    pub(super) fn deviation(&self, shown: Timestamp, now: Instant) -> i64 {
        shown.as_millis().saturating_sub(self.time_at(now).as_millis())
    }
}

fn micros_between(from: Instant, to: Instant) -> i64 {
    let micros = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
    if to >= from { micros(to - from) } else { -micros(from - to) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// A measurement `at` milliseconds after the start of a server's clock that showed 1,000 s then.
    fn sample(start: Instant, at: u32, outward: u32, back: u32) -> ClockSample {
        let sent = start + at * MS;
        let shown = 1_000_000_000 + i64::from(at + outward) * 1_000;
        ClockSample { sent, received: sent + (outward + back) * MS, shown }
    }

    fn millis(time: u64) -> Timestamp {
        Timestamp::EPOCH.plus(Duration::from_millis(time))
    }

    #[tokio::test(start_paused = true)]
    async fn two_of_five_measurements_may_be_disturbed() {
        let start = Instant::now();
        let good = [sample(start, 0, 1, 1), sample(start, 10, 2, 2), sample(start, 20, 1, 1)];
        let disturbed = [sample(start, 30, 80, 0), sample(start, 120, 0, 90)];
        let clock = ServerClock::of(&[&good[..], &disturbed].concat()).unwrap();
        assert_eq!(clock.time_at(start), millis(1_000_000));
        assert_eq!(clock.time_at(start + 7_500 * MS), millis(1_007_500));
        assert_eq!(clock.deviation(millis(1_009_000), start + 7_000 * MS), 2_000);
        assert_eq!(clock.deviation(millis(1_000_000), start + 7_000 * MS), -7_000);
        assert!(ServerClock::of(&[]).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn only_the_reply_to_time_is_read() {
        let now = Instant::now();
        let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let read = |reply| ClockSample::read(now, now, &reply).map(|sample| sample.shown);
        assert_eq!(read(Value::Array(vec![text("1700000000"), text("250000")])), Some(1_700_000_000_250_000));
        for other in [
            Value::Nil,
            Value::Array(vec![]),
            Value::Array(vec![text("1"), text("x")]),
            Value::Array(vec![text("9223372036854775807"), text("0")]),
        ] {
            assert_eq!(read(other), None);
        }
    }
}
