//! The schedule of attempts: the time between them, and how it is spread.

use std::time::Duration;

use super::WebhookId;
use super::progress::FAILURES_MAX;
use crate::Position;

/// The number of attempts for one event.
pub const ATTEMPTS_MAX: u32 = 8;

/// The time from each attempt to the next one, in seconds: 27 h 35 min and 5 s in all. The first attempt is sent at once.
const DELAYS: [u64; ATTEMPTS_MAX as usize - 1] = [5, 300, 1_800, 7_200, 18_000, 36_000, 36_000];

/// The largest part of a delay by which it is shortened or prolonged, in permille.
const JITTER_MAX: u64 = 200;

/// Returns the time from this attempt, which failed, to the next one; none after the last attempt. Attempts are
/// numbered from 1.
///
/// ```
/// use std::time::Duration;
/// use petstore_domain::retry_delay;
///
/// assert_eq!(retry_delay(1), Some(Duration::from_secs(5)));
/// assert_eq!(retry_delay(8), None);
/// ```
pub fn retry_delay(attempt: u32) -> Option<Duration> {
    let index = usize::try_from(attempt.checked_sub(1)?).ok()?;
    DELAYS.get(index).copied().map(Duration::from_secs)
}

/// The longest pause of a webhook whose attempts fail one after the other.
const REST_MAX: Duration = Duration::from_secs(16);

/// Returns the pause of a webhook after this number of failed attempts in a row, of any events: 1 second after as many as
/// lead to one attempt at a time, twice as long after each further one, and 16 seconds at most; none before. It bounds the
/// attempts at a receiver that refuses each of them at once.
///
/// ```
/// use std::time::Duration;
/// use petstore_domain::{FAILURES_MAX, failure_rest};
///
/// assert_eq!(failure_rest(FAILURES_MAX - 1), None);
/// assert_eq!(failure_rest(FAILURES_MAX), Some(Duration::from_secs(1)));
/// assert_eq!(failure_rest(u32::MAX), Some(Duration::from_secs(16)));
/// ```
pub fn failure_rest(failures: u32) -> Option<Duration> {
    let doublings = failures.checked_sub(FAILURES_MAX)?;
    let seconds = 1_u64.checked_shl(doublings).unwrap_or(u64::MAX);
    Some(Duration::from_secs(seconds).min(REST_MAX))
}

/// Returns the permille by which the delay after an attempt is shortened or prolonged: -200 to 200. It is the same each
/// time for the same webhook, event and attempt, so that it needs no random number and survives a restart.
pub fn retry_jitter(webhook: WebhookId, event: Position, attempt: u32) -> i32 {
    let bits = webhook.bits().to_le_bytes().into_iter();
    let bytes = bits.chain(event.get().to_le_bytes()).chain(attempt.to_le_bytes());
    let spread = (mixed(fnv1a(bytes)) >> 32) % (2 * JITTER_MAX + 1);
    i32::try_from(spread).unwrap_or(0) - i32::try_from(JITTER_MAX).unwrap_or(0)
}

/// Returns a delay with a jitter in permille.
pub(crate) fn jittered(delay: Duration, permille: i32) -> Duration {
    let factor = u32::try_from(1_000 + permille).unwrap_or(1_000);
    delay * factor / 1_000
}

/// Returns the hash FNV-1a in 64 bits, the same on all machines and in all releases.
pub(crate) fn fnv1a(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}

/// The final step of SplitMix64, which spreads each bit over all others.
const fn mixed(mut number: u64) -> u64 {
    number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_attempts_take_27_hours_and_35_minutes() {
        let delays: Vec<u64> = (1..).map_while(retry_delay).map(|delay| delay.as_secs()).collect();
        assert_eq!(delays.len() + 1, ATTEMPTS_MAX as usize);
        assert_eq!(delays.iter().sum::<u64>(), 27 * 3_600 + 35 * 60 + 5);
        assert_eq!(retry_delay(0), None);
        assert_eq!(retry_delay(u32::MAX), None);
    }

    #[test]
    fn the_jitter_is_fixed_and_spread_evenly_within_20_percent() {
        let webhook = WebhookId::from_bits(7);
        let of = |event| retry_jitter(webhook, Position::new(event).unwrap(), 1);
        assert_eq!(of(1), of(1));
        let all: Vec<i32> = (1..=40_100).map(of).collect();
        assert!(all.iter().all(|permille| (-200..=200).contains(permille)));
        for permille in -200..=200 {
            let count = all.iter().filter(|other| **other == permille).count();
            assert!((50..=150).contains(&count), "{permille} occurs {count} times, 100 are expected");
        }
        assert_ne!(retry_jitter(webhook, Position::MAX, 1), retry_jitter(webhook, Position::MAX, 2));
        assert_eq!(jittered(Duration::from_secs(5), -200), Duration::from_secs(4));
        assert_eq!(jittered(Duration::from_secs(5), 200), Duration::from_secs(6));
    }
}
