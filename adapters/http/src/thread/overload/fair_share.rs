//! Who is served when not everybody is: each account up to the same level, so that a greedy one pays for itself.

/// Accounts are told apart by this many numbers. Two that share one share what it is given.
const SLOTS: usize = 256;

/// What each of those who ask is given.
pub(super) struct FairShares {
    /// Requests in this tick.
    requested: [u32; SLOTS],
    /// The part that is served.
    part: [f32; SLOTS],
    /// What is left of the parts of requests so far: at one, the next is served.
    credit: [f32; SLOTS],
}

impl Default for FairShares {
    fn default() -> Self {
        Self { requested: [0; SLOTS], part: [1.0; SLOTS], credit: [0.0; SLOTS] }
    }
}

impl FairShares {
    /// Whether a request is served.
    pub(super) fn admit(&mut self, caller: u64) -> bool {
        // The number may differ in its upper bits alone.
        let mixed = caller.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56;
        let slot = usize::try_from(mixed).unwrap_or(0) % SLOTS;
        self.requested[slot] = self.requested[slot].saturating_add(1);
        let credit = self.credit[slot] + self.part[slot];
        let is_served = credit >= 1.0;
        self.credit[slot] = if is_served { credit - 1.0 } else { credit };
        is_served
    }

    /// A tick has ended, and of as many requests in the next one this part is to be served.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "parts, not counts"
    )]
    pub(super) fn divide(&mut self, part: f32) {
        let total: u64 = self.requested.iter().map(|requested| u64::from(*requested)).sum();
        let level = level(self.requested, (total as f64 * f64::from(part)) as u64);
        for (part, requested) in self.part.iter_mut().zip(&mut self.requested) {
            *part = if *requested <= level { 1.0 } else { level as f32 / *requested as f32 };
            *requested = 0;
        }
    }
}

/// The level at which everybody's demand, cut at that level, fits into what there is.
fn level(mut requested: [u32; SLOTS], fits: u64) -> u32 {
    requested.sort_unstable();
    let mut left = fits;
    for (done, one) in requested.iter().enumerate() {
        let each = left / (SLOTS - done) as u64;
        if u64::from(*one) > each {
            return u32::try_from(each).unwrap_or(u32::MAX);
        }
        left -= u64::from(*one);
    }
    u32::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests of one tick, and how many of each are served after it has settled.
    fn served(demands: &[(u64, u32)], part: f32) -> Vec<u32> {
        let mut fair_shares = FairShares::default();
        let mut served = vec![];
        for _ in 0..3 {
            served = demands
                .iter()
                .map(|(caller, requests)| {
                    u32::try_from((0..*requests).filter(|_| fair_shares.admit(*caller)).count()).unwrap()
                })
                .collect();
            fair_shares.divide(part);
        }
        served
    }

    #[test]
    fn one_account_is_refused_the_part_that_does_not_fit() {
        let served = served(&[(7, 1_000)], 0.4);
        assert!((395..=405).contains(&served[0]), "{served:?}");
    }

    #[test]
    fn who_asks_little_is_served_and_the_greedy_one_pays() {
        let served = served(&[(1, 1_000), (2, 20), (3, 20), (4, 20)], 0.3);
        assert_eq!(served[1..], [20, 20, 20]);
        assert!((250..=262).contains(&served[0]), "{served:?}");
    }

    #[test]
    fn two_greedy_ones_are_served_alike() {
        let served = served(&[(1, 1_000), (2, 500), (3, 10)], 0.5);
        assert_eq!(served[2], 10);
        assert!(served[0].abs_diff(served[1]) <= 20 && served[1] <= 500, "{served:?}");
    }

    #[test]
    fn nobody_is_refused_when_all_fits() {
        assert_eq!(served(&[(1, 1_000), (2, 500)], 1.0), [1_000, 500]);
    }
}
