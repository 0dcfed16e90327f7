//! The plan table in force: every request reads it, a reload changes it.

use std::sync::atomic::{AtomicU64, Ordering};

use petstore_domain::{Limit, Limits, Plan, PlanTable};

/// A plan table that can be changed while requests read it. Both limits of a plan share a word, so that nobody sees
/// one of before beside one of after; reading costs what a plain field costs.
pub(crate) struct LivePlans {
    free: AtomicU64,
    pro: AtomicU64,
    business: AtomicU64,
}

impl LivePlans {
    pub(crate) fn new(plans: PlanTable) -> Self {
        Self {
            free: AtomicU64::new(pack(plans.free)),
            pro: AtomicU64::new(pack(plans.pro)),
            business: AtomicU64::new(pack(plans.business)),
        }
    }

    /// From now on these are in force. What has been used stays used.
    pub(crate) fn set(&self, plans: PlanTable) {
        self.free.store(pack(plans.free), Ordering::Relaxed);
        self.pro.store(pack(plans.pro), Ordering::Relaxed);
        self.business.store(pack(plans.business), Ordering::Relaxed);
    }

    /// What a plan admits.
    pub(crate) fn limits(&self, plan: &Plan) -> Limits {
        let word = match plan {
            Plan::Free => &self.free,
            Plan::Pro => &self.pro,
            Plan::Business => &self.business,
            Plan::Enterprise(limits) => return *limits,
        };
        unpack(word.load(Ordering::Relaxed))
    }
}

fn pack(limits: Limits) -> u64 {
    u64::from(limits.minute.get()) << 32 | u64::from(limits.day.get())
}

#[expect(clippy::cast_possible_truncation, reason = "each half is taken apart from the other")]
fn unpack(word: u64) -> Limits {
    let limit = |requests| Limit::new(requests).expect("only limits are packed");
    Limits { minute: limit((word >> 32) as u32), day: limit(word as u32) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_is_in_force_and_an_agreement_stays() {
        let limit = |requests| Limit::new(requests).unwrap();
        let own = Limits { minute: limit(7), day: limit(Limit::MAX) };
        let live = LivePlans::new(PlanTable::SPECIFICATION);
        for plan in [Plan::Free, Plan::Pro, Plan::Business, Plan::Enterprise(own)] {
            assert_eq!(live.limits(&plan), PlanTable::SPECIFICATION.limits(&plan));
        }
        let changed = PlanTable { free: own, ..PlanTable::SPECIFICATION };
        live.set(changed);
        for plan in [Plan::Free, Plan::Pro, Plan::Business, Plan::Enterprise(own)] {
            assert_eq!(live.limits(&plan), changed.limits(&plan));
        }
    }
}
