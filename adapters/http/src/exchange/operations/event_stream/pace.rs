//! The pace at which a stream reads the log. It bounds the time that many streams of a busy log take from the server.

use tokio::time::{Duration, Instant};

/// Maximum number of reads in a second, for all streams of a server together. Reads of streams that have not caught up
/// with the log do not count.
const READS_PER_SECOND: u32 = 10_000;

/// The time by which a stream may be ahead of its share of reads. A stream that has not read for a while may therefore
/// make some reads without a pause.
const SAVED_TIME: Duration = Duration::from_millis(100);

/// The share of one stream in the reads of all streams.
pub(super) struct Pace {
    /// The instant up to which the stream has used its share: each read moves this instant on by the time that the
    /// share allows for one read. If it is more than [`SAVED_TIME`] in the future, the stream must wait.
    due: Instant,
}

impl Pace {
    pub(super) const fn new(now: Instant) -> Self {
        Self { due: now }
    }

    /// The instant until which the stream must wait before its next read; `None` if it may read now.
    pub(super) fn wait_until(&self, now: Instant) -> Option<Instant> {
        let ahead = self.due.saturating_duration_since(now);
        ahead.checked_sub(SAVED_TIME).filter(|wait| !wait.is_zero()).map(|wait| now + wait)
    }

    /// Counts a read. `streams` is the number of streams of the server.
    pub(super) fn count(&mut self, now: Instant, streams: usize) {
        let streams = u32::try_from(streams).unwrap_or(u32::MAX);
        self.due = self.due.max(now) + Duration::from_secs(1) / READS_PER_SECOND * streams;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads as often as the pace permits, for 10 s. Returns the number of reads.
    fn reads(streams: usize) -> u32 {
        let begin = Instant::now();
        let (mut pace, mut now, mut reads) = (Pace::new(begin), begin, 0);
        while now < begin + Duration::from_secs(10) {
            if let Some(later) = pace.wait_until(now) {
                now = later;
            } else {
                pace.count(now, streams);
                reads += 1;
            }
        }
        reads
    }

    #[test]
    fn all_streams_together_read_so_many_times_a_second() {
        for streams in [1, 10, 1_000] {
            let all = reads(streams) * u32::try_from(streams).unwrap();
            let most = READS_PER_SECOND * 10;
            let saved = READS_PER_SECOND / 10 + u32::try_from(streams).unwrap();
            assert!((most..=most + saved).contains(&all), "{streams}: {all}");
        }
    }

    #[test]
    fn a_stream_that_was_quiet_reads_at_once() {
        let begin = Instant::now();
        let mut pace = Pace::new(begin);
        for number in 0..100 {
            let now = begin + number * SAVED_TIME;
            assert_eq!(pace.wait_until(now), None);
            pace.count(now, 1_000);
        }
    }
}
