//! Max-min fair sharing between callers. During an overload each caller is served up to the same number of requests,
//! so the callers with the most requests are refused the most.

/// Number of slots to which callers are hashed. Callers in the same slot share one allotment.
const SLOTS: usize = 256;

/// The share of each caller.
pub(super) struct FairShares {
    /// The number of requests in this period.
    requests: [u32; SLOTS],
    /// The share of requests that is served.
    part: [f32; SLOTS],
    /// The credit of each slot. Each request adds the slot's share. If the credit is then one or more, the request is
    /// served and the credit decreases by one.
    credit: [f32; SLOTS],
}

impl Default for FairShares {
    fn default() -> Self {
        Self { requests: [0; SLOTS], part: [1.0; SLOTS], credit: [0.0; SLOTS] }
    }
}

impl FairShares {
    /// Decides whether a request is served.
    pub(super) fn admit(&mut self, caller: u64) -> bool {
        // The numbers of two callers may differ only in their upper bits, so the bits are mixed.
        let mixed = caller.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56;
        let slot = usize::try_from(mixed).unwrap_or(0) % SLOTS;
        self.requests[slot] = self.requests[slot].saturating_add(1);
        let credit = self.credit[slot] + self.part[slot];
        let is_served = credit >= 1.0;
        self.credit[slot] = if is_served { credit - 1.0 } else { credit };
        is_served
    }

    /// Sets the shares for the next period. If each caller then sends as many requests as in this period, the share
    /// `part` of all requests is served.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "fractions, not counts"
    )]
    pub(super) fn divide(&mut self, part: f32) {
        let total: u64 = self.requests.iter().map(|requests| u64::from(*requests)).sum();
        let level = level(self.requests, (total as f64 * f64::from(part)) as u64);
        for (part, requests) in self.part.iter_mut().zip(&mut self.requests) {
            *part = if *requests <= level { 1.0 } else { level as f32 / *requests as f32 };
            *requests = 0;
        }
    }
}

/// Returns the highest limit for one slot that keeps the total within `fits`: if every slot with more requests than the
/// limit is cut to it, all slots together have at most `fits` requests.
fn level(mut requests: [u32; SLOTS], fits: u64) -> u32 {
    requests.sort_unstable();
    let mut left = fits;
    for (done, one) in requests.iter().enumerate() {
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

    /// The number of served requests for each caller's demand, in the steady state.
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
    fn a_single_caller_is_refused_the_excess() {
        let served = served(&[(7, 1_000)], 0.4);
        assert!((395..=405).contains(&served[0]), "{served:?}");
    }

    #[test]
    fn small_callers_are_served_in_full_and_the_largest_is_refused() {
        let served = served(&[(1, 1_000), (2, 20), (3, 20), (4, 20)], 0.3);
        assert_eq!(served[1..], [20, 20, 20]);
        assert!((250..=262).contains(&served[0]), "{served:?}");
    }

    #[test]
    fn two_large_callers_get_the_same_share() {
        let served = served(&[(1, 1_000), (2, 500), (3, 10)], 0.5);
        assert_eq!(served[2], 10);
        assert!(served[0].abs_diff(served[1]) <= 20 && served[1] <= 500, "{served:?}");
    }

    #[test]
    fn no_caller_is_refused_if_all_demands_fit() {
        assert_eq!(served(&[(1, 1_000), (2, 500)], 1.0), [1_000, 500]);
    }
}
