//! Shared parts of the benchmarks over HTTP: the latency histogram.
//!
//! The binaries of this crate are `load`, the load generator, and `baseline`, bare hyper with a constant answer; and for
//! webhooks `receiver`, and `post`, a bare hyper client.
//! PERFORMANCE.md has the commands that use them.

use std::time::Duration;

/// Buckets per octave, which make a recorded time exact to 3%.
const PARTS: u32 = 32;

const PART_BITS: u32 = PARTS.ilog2();

/// A latency histogram with logarithmic buckets: a run of any length takes 16 KiB.
#[derive(Debug)]
pub struct Histogram {
    counts: Vec<u64>,
    longest: Duration,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; (u64::BITS * PARTS) as usize], longest: Duration::ZERO }
    }
}

impl Histogram {
    /// Adds a measured time.
    pub fn record(&mut self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).max(u64::from(PARTS));
        let octave = nanos.ilog2();
        // The leading bits of the time are a number from PARTS up to twice PARTS.
        let part = (nanos >> (octave - PART_BITS)) - u64::from(PARTS);
        self.counts[(octave * PARTS) as usize + usize::try_from(part).unwrap_or(0)] += 1;
        self.longest = self.longest.max(time);
    }

    /// The number of recorded times.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the time below which this share of the recorded times lies.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a count"
    )]
    pub fn at(&self, share: f64) -> Duration {
        let mut left = (self.count() as f64 * share) as u64;
        for (place, count) in (0_u64..).zip(&self.counts) {
            if *count > left {
                let (octave, part) = (place / u64::from(PARTS), place % u64::from(PARTS));
                return Duration::from_nanos((u64::from(PARTS) + part) << octave >> PART_BITS);
            }
            left -= count;
        }
        self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_exact_to_three_percent() {
        let mut times = Histogram::default();
        (1..=100_000_u64).for_each(|micros| times.record(Duration::from_micros(micros)));
        assert_eq!(times.count(), 100_000);
        for (share, expected) in [(0.0, 1.0), (0.5, 50_000.0), (0.99, 99_000.0), (0.999, 99_900.0)] {
            let measured = times.at(share).as_secs_f64() * 1e6;
            assert!((0.96..=1.01).contains(&(measured / expected)), "{share}: {measured}");
        }
        assert_eq!(times.at(1.0), Duration::from_millis(100));
    }
}
