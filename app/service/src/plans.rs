//! The current plan table, which every request reads and a reload replaces.

use std::sync::atomic::{AtomicU64, Ordering};

use petstore_domain::{Limits, Plan, PlanTable};

/// A plan table that can be replaced while requests read it. Both limits of a plan share one atomic word, so that no
/// request sees an old limit beside a new one. Reading the table costs the same as reading a plain field.
pub(crate) struct LivePlans {
    free: AtomicU64,
    pro: AtomicU64,
    business: AtomicU64,
}

impl LivePlans {
    pub(crate) fn new(plans: PlanTable) -> Self {
        Self {
            free: AtomicU64::new(plans.free.to_word()),
            pro: AtomicU64::new(plans.pro.to_word()),
            business: AtomicU64::new(plans.business.to_word()),
        }
    }

    /// Replaces the limits. Usage counts are not reset.
    pub(crate) fn set(&self, plans: PlanTable) {
        self.free.store(plans.free.to_word(), Ordering::Relaxed);
        self.pro.store(plans.pro.to_word(), Ordering::Relaxed);
        self.business.store(plans.business.to_word(), Ordering::Relaxed);
    }

    /// The limits of a plan.
    pub(crate) fn limits(&self, plan: &Plan) -> Limits {
        let word = match plan {
            Plan::Free => &self.free,
            Plan::Pro => &self.pro,
            Plan::Business => &self.business,
            Plan::Enterprise(limits) => return *limits,
        };
        Limits::from_word(word.load(Ordering::Relaxed)).expect("only limits are stored")
    }
}

#[cfg(test)]
mod tests {
    use petstore_domain::Limit;

    use super::*;

    #[test]
    fn new_limits_apply_and_an_enterprise_agreement_stays() {
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
