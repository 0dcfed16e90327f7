//! The figures of a progress, and the instants at which they are shown.

use std::time::Duration;

use petstore_ports::{WorkPhase, WorkUnit};

/// The time between two lines.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// The time after which work gets a bar. Shorter work shows none.
const BAR_AFTER: Duration = Duration::from_millis(500);

/// The time in a phase before which its rate is not shown.
const RATE_AFTER: Duration = Duration::from_secs(1);

/// The instants at which the progress of some work is shown. Each instant is given as the time since the start of a clock.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    /// The start of the work.
    begun: Option<Duration>,
    /// The number of the phase, and its start.
    phase: Option<(u64, Duration)>,
    /// The instant of the last line.
    line: Option<Duration>,
}

impl Schedule {
    /// The time since the phase with this number was first seen.
    pub(super) fn time_in_phase(&mut self, number: u64, now: Duration) -> Duration {
        self.begun.get_or_insert(now);
        match self.phase {
            Some((known, since)) if known == number => now.saturating_sub(since),
            _ => {
                self.phase = Some((number, now));
                Duration::ZERO
            }
        }
    }

    /// Returns `true` if the work lasts long enough for a bar.
    pub(super) fn is_bar_due(&self, now: Duration) -> bool {
        self.begun.is_some_and(|begun| now.saturating_sub(begun) >= BAR_AFTER)
    }

    /// Returns `true` if the next line is due, and then counts from this line.
    pub(super) fn is_line_due(&mut self, now: Duration) -> bool {
        let Some(since) = self.line.or(self.begun) else { return false };
        let is_due = now.saturating_sub(since) >= LINE_INTERVAL;
        if is_due {
            self.line = Some(now);
        }
        is_due
    }
}

/// The figures of a phase.
#[derive(Debug)]
pub(super) struct Figures {
    pub(super) phase: WorkPhase,
    pub(super) done: u64,
    /// The time since the phase began.
    pub(super) elapsed: Duration,
}

impl Figures {
    /// The line of a log: the phase and all figures.
    pub(super) fn line(&self) -> String {
        format!("{}: {}", self.phase.name, self.text())
    }

    /// The figures without the phase.
    pub(super) fn text(&self) -> String {
        let parts = [Some(self.count()), self.rate(), self.left()];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// The total, unless it is 0 or more than this is done already. The total is sometimes an estimate.
    pub(super) fn total(&self) -> Option<u64> {
        self.phase.total.filter(|total| *total > 0 && *total >= self.done)
    }

    fn count(&self) -> String {
        let (done, total) = (self.done, self.total());
        let unit = match self.phase.unit {
            WorkUnit::Time => return format!("for {}", time(self.elapsed)),
            WorkUnit::Bytes => {
                return match total {
                    Some(total) => format!("{} of {} MB", megabytes(done), megabytes(total)),
                    None => format!("{} MB", megabytes(done)),
                };
            }
            WorkUnit::Rows => "rows",
            WorkUnit::Lines => "lines",
            WorkUnit::Keys => "keys",
            WorkUnit::Steps => "steps",
        };
        match total {
            Some(total) => format!("{} of {} {unit}", grouped(done), grouped(total)),
            None => format!("{} {unit}", grouped(done)),
        }
    }

    /// Steps differ in length, so they have the time that has passed in place of a rate.
    fn rate(&self) -> Option<String> {
        match self.phase.unit {
            WorkUnit::Time => None,
            WorkUnit::Steps => Some(format!("for {}", time(self.elapsed))),
            WorkUnit::Bytes => self.per_second().map(|rate| format!("{} MB/s", megabytes(rate))),
            WorkUnit::Rows | WorkUnit::Lines | WorkUnit::Keys => {
                self.per_second().map(|rate| format!("{}/s", grouped(rate)))
            }
        }
    }

    fn left(&self) -> Option<String> {
        if matches!(self.phase.unit, WorkUnit::Time | WorkUnit::Steps) {
            return None;
        }
        let left = self.total()? - self.done;
        let rate = self.per_second().filter(|rate| *rate > 0)?;
        Some(format!("{} left", time(Duration::from_secs(left.div_ceil(rate)))))
    }

    /// The units of each second of the phase so far.
    fn per_second(&self) -> Option<u64> {
        let millis = self.elapsed.as_millis();
        let rate = (u128::from(self.done) * 1_000).checked_div(millis)?;
        (self.elapsed >= RATE_AFTER).then(|| u64::try_from(rate).unwrap_or(u64::MAX))
    }
}

/// A number with commas between groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Bytes in megabytes, with one decimal place.
fn megabytes(bytes: u64) -> String {
    let tenths = bytes / 100_000;
    format!("{}.{}", grouped(tenths / 10), tenths % 10)
}

/// A time in its two largest units.
fn time(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{} h {minutes} min", grouped(hours)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn line(unit: WorkUnit, total: Option<u64>, done: u64, elapsed: Duration) -> String {
        let phase = WorkPhase { name: "reading the file", unit, total };
        Figures { phase, done, elapsed }.line()
    }

    #[test]
    fn a_line_has_the_count_the_rate_and_the_time_left() {
        for (unit, total, done, elapsed, expected) in [
            (
                WorkUnit::Rows,
                Some(2_000_000),
                500_000,
                seconds(10),
                "500,000 of 2,000,000 rows, 50,000/s, 30 s left",
            ),
            (WorkUnit::Rows, None, 500_000, seconds(10), "500,000 rows, 50,000/s"),
            (WorkUnit::Lines, Some(7), 8, seconds(2), "8 lines, 4/s"),
            (WorkUnit::Keys, Some(10_000), 1, seconds(2), "1 of 10,000 keys, 0/s"),
            (WorkUnit::Keys, Some(10_000), 20, seconds(20), "20 of 10,000 keys, 1/s, 2 h 46 min left"),
            (
                WorkUnit::Bytes,
                Some(88_000_000),
                12_340_000,
                seconds(3),
                "12.3 of 88.0 MB, 4.1 MB/s, 19 s left",
            ),
            (WorkUnit::Bytes, None, 1_234_500_000, seconds(100), "1,234.5 MB, 12.3 MB/s"),
            (WorkUnit::Steps, Some(5), 2, seconds(72), "2 of 5 steps, for 1 min 12 s"),
            (WorkUnit::Time, None, 0, seconds(3_725), "for 1 h 2 min"),
            (WorkUnit::Rows, Some(9), 3, Duration::from_millis(999), "3 of 9 rows"),
        ] {
            assert_eq!(line(unit, total, done, elapsed), format!("reading the file: {expected}"));
        }
    }

    #[test]
    fn a_line_is_due_every_ten_seconds_and_a_bar_after_half_a_second() {
        let mut schedule = Schedule::default();
        assert!(
            !schedule.is_bar_due(seconds(100)) && !schedule.is_line_due(seconds(100)),
            "no work has begun"
        );
        let start = seconds(100);
        assert_eq!(schedule.time_in_phase(1, start), Duration::ZERO);
        assert!(!schedule.is_bar_due(start + Duration::from_millis(499)));
        assert!(schedule.is_bar_due(start + Duration::from_millis(500)));
        let due: Vec<u64> = (0..45).filter(|after| schedule.is_line_due(start + seconds(*after))).collect();
        assert_eq!(due, [10, 20, 30, 40]);
    }

    #[test]
    fn the_time_begins_again_with_each_phase_and_the_lines_do_not() {
        let mut schedule = Schedule::default();
        schedule.time_in_phase(1, seconds(0));
        assert_eq!(schedule.time_in_phase(1, seconds(8)), seconds(8));
        assert_eq!(schedule.time_in_phase(2, seconds(9)), seconds(0));
        assert!(schedule.is_line_due(seconds(10)));
        assert_eq!(schedule.time_in_phase(2, seconds(12)), seconds(3));
    }
}
