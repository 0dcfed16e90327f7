//! The axis of time: where a request is in a picture.
//!
//! The time is the sandbox's, which a test moves. A gap that is much longer than all shorter ones together would press the other
//! requests into one point; it is cut, and its length is written beside the cut. The axis begins again where the clock was
//! turned back.

use petstore_domain::Timestamp;

/// The length that a gap may have, compared with the sum of all shorter ones, before it is cut.
const CUT_FACTOR: f64 = 6.0;

/// The seconds that are added to that sum, so that a short wait after a few requests is not cut.
const CUT_START: f64 = 1.0;

/// The length that a cut gap has in the picture, compared with the sum of all gaps that are not cut.
const CUT_SHARE: f64 = 0.25;

/// The share of the axis that a turn of the clock takes.
const TURN_SHARE: f64 = 0.02;

/// The number of marks of time on an axis, at most.
const TICKS_MAX: f64 = 8.0;

/// The share of the axis that a mark of time needs for its text.
const TICK_SHARE: f64 = 0.09;

/// The time between a request and the next one, or the end.
struct Gap {
    /// Where it begins, from 0 to 1.
    start: f64,
    width: f64,
    /// Seconds; 0 if the clock was turned back.
    length: f64,
    kind: GapKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum GapKind {
    Whole,
    Cut,
    Turn,
}

/// A text below the axis.
#[derive(Debug, Clone, Copy)]
pub(super) enum Tick {
    /// The seconds since the first request.
    Time(f64, f64),
    /// A gap of this many seconds was cut.
    Cut(f64, f64),
    /// The clock was turned back.
    Turn(f64),
}

/// The places of requests from 0, the first one, to 1.
pub(super) struct Axis {
    gaps: Vec<Gap>,
}

impl Axis {
    /// The axis of requests that arrived at these times, and of what happened up to `end`.
    pub(super) fn new(times: &[Timestamp], end: Timestamp) -> Self {
        let later = times.iter().skip(1).copied().chain([times.last().map_or(end, |last| end.max(*last))]);
        let lengths: Vec<f64> = times.iter().zip(later).map(|(from, to)| secs_between(*from, to)).collect();
        let longest = longest_whole(&lengths);
        let whole: f64 = lengths.iter().filter(|length| (0.0..=longest).contains(*length)).sum();
        let cut = CUT_START + CUT_SHARE * whole;
        let (mut drawn, mut turns) = (0.0, 0.0);
        for length in &lengths {
            if *length < 0.0 {
                turns += TURN_SHARE;
            } else {
                drawn += if *length > longest { cut } else { *length };
            }
        }
        let for_turns = f64::min(turns, 0.5);
        let mut start = 0.0;
        #[expect(clippy::cast_precision_loss, reason = "a journal has far fewer requests")]
        let count = lengths.len() as f64;
        let gaps = lengths.into_iter().map(|length| {
            let (width, kind) = match length {
                ..0.0 => (TURN_SHARE * for_turns / turns, GapKind::Turn),
                // The clock stood still all the time: the order is all there is to show.
                _ if drawn == 0.0 => ((1.0 - for_turns) / count, GapKind::Whole),
                _ if length > longest => ((1.0 - for_turns) * cut / drawn, GapKind::Cut),
                _ => ((1.0 - for_turns) * length / drawn, GapKind::Whole),
            };
            let gap = Gap { start, width, length: length.max(0.0), kind };
            start += width;
            gap
        });
        Self { gaps: gaps.collect() }
    }

    /// Returns the place of a request, by its number from 0.
    pub(super) fn place(&self, request: usize) -> f64 {
        self.gaps.get(request).map_or(1.0, |gap| gap.start.min(1.0))
    }

    /// Returns the place of a moment some seconds after a request. It is not behind a turn of the clock.
    pub(super) fn place_after(&self, request: usize, secs: f64) -> f64 {
        let mut rest = secs.max(0.0);
        for gap in self.gaps.iter().skip(request) {
            if gap.kind == GapKind::Turn {
                return gap.start.min(1.0);
            }
            if rest <= gap.length {
                let share = if gap.length > 0.0 { rest / gap.length } else { 0.0 };
                return (gap.start + gap.width * share).min(1.0);
            }
            rest -= gap.length;
        }
        1.0
    }

    /// Returns the texts below the axis, from left to right.
    pub(super) fn ticks(&self) -> Vec<Tick> {
        let whole = |gap: &&Gap| gap.kind == GapKind::Whole;
        let shown: f64 = self.gaps.iter().filter(whole).map(|gap| gap.length).sum();
        let step = step_above(shown / TICKS_MAX);
        let mut ticks = vec![Tick::Time(0.0, 0.0)];
        let (mut elapsed, mut free) = (0.0, TICK_SHARE);
        for gap in &self.gaps {
            match gap.kind {
                GapKind::Turn => {
                    ticks.push(Tick::Turn(gap.start + gap.width / 2.0));
                    free = gap.start + gap.width + TICK_SHARE;
                }
                GapKind::Cut => {
                    ticks.push(Tick::Cut(gap.start + gap.width / 2.0, gap.length));
                    free = gap.start + gap.width;
                }
                GapKind::Whole if gap.length > 0.0 => {
                    let (mut number, end) = ((elapsed / step).ceil(), elapsed + gap.length);
                    while number * step <= end {
                        let place = gap.start + gap.width * ((number * step - elapsed) / gap.length);
                        if place >= free && place <= 1.0 {
                            ticks.push(Tick::Time(place, number * step));
                            free = place + TICK_SHARE;
                        }
                        number += 1.0;
                    }
                }
                GapKind::Whole => {}
            }
            elapsed += gap.length;
        }
        ticks
    }
}

/// Returns the seconds from one time to another, which are negative if that one is earlier.
pub(super) fn secs_between(from: Timestamp, to: Timestamp) -> f64 {
    if to >= from { to.since(from).as_secs_f64() } else { -from.since(to).as_secs_f64() }
}

/// Returns a length that the longest gap has at most that is not cut, and that all cut ones exceed.
fn longest_whole(lengths: &[f64]) -> f64 {
    let mut sorted: Vec<f64> = lengths.iter().copied().filter(|length| *length > 0.0).collect();
    sorted.sort_by(f64::total_cmp);
    let mut sum = CUT_START;
    for length in sorted {
        if length > CUT_FACTOR * sum {
            return sum;
        }
        sum += length;
    }
    f64::INFINITY
}

/// Returns a step of 1, 2 or 5 times a power of ten that is not below a length.
fn step_above(length: f64) -> f64 {
    /// The finest step.
    const FINEST: f64 = 0.001;
    let mut power = FINEST;
    loop {
        for step in [power, 2.0 * power, 5.0 * power] {
            if step >= length || !length.is_finite() {
                return step;
            }
        }
        power *= 10.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(millis: &[i64]) -> Vec<Timestamp> {
        millis.iter().map(|at| Timestamp::from_millis(*at).unwrap()).collect()
    }

    fn axis(millis: &[i64], end: i64) -> Axis {
        Axis::new(&times(millis), Timestamp::from_millis(end).unwrap())
    }

    /// Returns the places of the first requests, in thousandths.
    fn places(axis: &Axis, count: usize) -> String {
        let places: Vec<_> =
            (0..count).map(|request| format!("{:.0}", axis.place(request) * 1_000.0)).collect();
        places.join(" ")
    }

    #[test]
    fn places_are_proportional_to_time() {
        assert_eq!(places(&axis(&[0, 1_000, 2_000, 4_000], 4_000), 4), "0 250 500 1000");
        assert_eq!(places(&axis(&[0, 1_000], 2_000), 2), "0 500");
        assert_eq!(places(&axis(&[5_000], 0), 1), "0");
    }

    #[test]
    fn a_clock_that_stands_still_shows_the_order() {
        assert_eq!(places(&axis(&[0, 0, 0, 0], 0), 4), "0 250 500 750");
    }

    #[test]
    fn a_long_gap_is_cut_and_says_its_length() {
        let axis = axis(&[0, 1_000, 129_601_000, 129_602_000], 129_602_000);
        assert_eq!(places(&axis, 4), "0 286 714 1000");
        assert!(axis.ticks().iter().any(
            |tick| matches!(tick, Tick::Cut(place, secs) if (place - 0.5).abs() < 0.01 && (secs - 129_600.0).abs() < 0.1)
        ));
        assert!((axis.place_after(1, 64_800.0) - 0.5).abs() < 0.01, "the middle of the gap");
    }

    #[test]
    fn a_clock_that_is_turned_back_begins_again() {
        let axis = axis(&[10_000, 12_000, 5_000, 7_000], 7_000);
        assert_eq!(places(&axis, 4), "0 490 510 1000");
        assert!((axis.place_after(0, 600.0) - 0.49).abs() < 0.01, "no wait is behind the turn");
        assert!(axis.ticks().iter().any(|tick| matches!(tick, Tick::Turn(_))));
        let many: Vec<i64> = (0..1_000).rev().collect();
        let turned = self::axis(&many, 0);
        assert!((0..1_000).all(|request| (0.0..=1.0).contains(&turned.place(request))));
    }

    #[test]
    fn marks_of_time_are_few_and_apart() {
        let ticks = axis(&[0, 3_000, 30_046, 60_000], 61_000).ticks();
        let seconds = ticks
            .iter()
            .map(|tick| if let Tick::Time(_, secs) = tick { format!("{secs:.0}") } else { "cut".to_owned() });
        assert_eq!(seconds.collect::<Vec<_>>().join(" "), "0 10 20 30 40 50 60");
        for (length, expected) in [(0.0, 0.001), (0.3, 0.5), (7.5, 10.0), (f64::INFINITY, 0.001)] {
            assert!((step_above(length) - expected).abs() < 1e-9, "{length}");
        }
    }
}
