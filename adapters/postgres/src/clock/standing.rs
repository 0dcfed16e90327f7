//! The judgement of a node's clock. Times are milliseconds, and differences are positive if the node is ahead.

use super::{ClockFault, ClockFaultKind};

/// The greatest difference that is not mentioned.
const SLIGHT: u64 = 1_000;

/// The greatest difference between two clocks that agree. A comparison with other nodes counts only those that have renewed
/// their row within a shorter time, so a row from before a step of the database's clock never counts.
pub(crate) const AGREE: u64 = 5_000;

/// The standing of a node's clock among the clocks of the database and of the other live nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Standing {
    /// The node has not compared its clock yet.
    #[default]
    Unknown,
    /// It agrees with the database's.
    Right,
    /// It differs from the database's, and no live node agrees with the database: the database's clock may be the wrong one.
    Disputed,
    /// It differs from the database's, and a live node agrees with the database.
    Wrong,
}

/// The use of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measured {
    /// It continues the time that was known.
    Followed,
    /// The time has stepped, and the new one is used.
    Stepped,
    /// The clock of the database has stepped, and the time that was known is continued.
    Refused,
}

/// The knowledge about the clocks.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Judgement {
    pub(super) standing: Standing,
    /// The difference at the last measurement.
    ahead: Option<i64>,
    is_measured: bool,
    /// True while the time in use is one of two that differed already at the start of the node.
    is_tentative: bool,
}

fn agree(difference: i64) -> bool {
    difference.unsigned_abs() <= AGREE
}

impl Judgement {
    /// Takes note of the first comparison with the machine's clock.
    pub(super) fn began(&mut self, ahead: i64) {
        self.ahead = Some(ahead);
        self.is_tentative = !agree(ahead);
    }

    /// Judges a measurement. `change`: the step of the time in use if it were followed.
    pub(super) fn measured(&mut self, change: i64, ahead: Option<i64>) -> Measured {
        self.ahead = ahead;
        let agrees_with_machine = ahead.is_some_and(agree);
        if agrees_with_machine {
            self.is_tentative = false;
        }
        let is_first = !std::mem::replace(&mut self.is_measured, true);
        if is_first || agree(change) {
            Measured::Followed
        } else if agrees_with_machine || self.standing == Standing::Wrong {
            Measured::Stepped
        } else {
            Measured::Refused
        }
    }

    /// Judges the node's clock by those of the other live nodes. `change`: the step of the time in use if it followed the
    /// machine's clock. Returns true if it must.
    pub(super) fn compared(&mut self, ahead: i64, others: &[i64], change: i64) -> bool {
        self.standing = standing(self.standing, ahead, others);
        match self.standing {
            Standing::Wrong => self.is_tentative = false,
            Standing::Disputed if self.is_tentative => {
                // A node without others cannot know which clock is wrong, and uses the one by which nothing expires too early.
                self.is_tentative = others.is_empty();
                return !agree(change) && (!others.is_empty() || change < 0);
            }
            _ => {}
        }
        false
    }

    /// Returns whether the clocks of the node and of the database agree, as far as they were compared.
    pub(super) fn agrees(&self) -> bool {
        self.ahead.is_none_or(agree) && matches!(self.standing, Standing::Unknown | Standing::Right)
    }

    pub(super) fn fault(&self) -> Option<ClockFault> {
        let ahead_ms = self.ahead?;
        let kind = match self.standing {
            _ if ahead_ms.unsigned_abs() <= SLIGHT => return None,
            _ if agree(ahead_ms) => ClockFaultKind::Slight,
            Standing::Wrong => ClockFaultKind::Wrong,
            Standing::Disputed => ClockFaultKind::Disputed,
            // The next comparison decides.
            Standing::Unknown | Standing::Right => ClockFaultKind::Slight,
        };
        Some(ClockFault { kind, ahead_ms })
    }
}

/// The standing of a clock that is ahead of the database's by `ahead`, while those of the other live nodes are ahead by these.
fn standing(before: Standing, ahead: i64, others: &[i64]) -> Standing {
    if agree(ahead) {
        return Standing::Right;
    }
    if others.is_empty() {
        // A node that was found wrong does not become right because the others leave.
        return if before == Standing::Wrong { Standing::Wrong } else { Standing::Disputed };
    }
    let allies = others.iter().filter(|other| agree(ahead.saturating_sub(**other))).count();
    let is_outvoted = allies + 1 < others.len() - allies;
    if is_outvoted || others.iter().any(|other| agree(*other)) { Standing::Wrong } else { Standing::Disputed }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400_000;

    #[test]
    fn a_clock_is_judged_by_those_of_the_database_and_of_the_others() {
        use Standing::{Disputed, Right, Unknown, Wrong};
        for (before, ahead, others, expected) in [
            (Unknown, 5_000, &[DAY][..], Right),
            (Unknown, -5_001, &[0], Wrong),
            (Right, DAY, &[0, DAY], Wrong),
            (Right, -660_000, &[-659_000, -662_000], Disputed),
            (Right, -660_000, &[], Disputed),
            (Wrong, DAY, &[], Wrong),
            (Wrong, DAY, &[DAY], Disputed),
            (Wrong, 10, &[], Right),
            (Right, DAY, &[-DAY], Disputed),
            (Right, DAY, &[-DAY, -DAY], Wrong),
        ] {
            assert_eq!(standing(before, ahead, others), expected, "{before:?} {ahead} {others:?}");
        }
    }

    #[test]
    fn a_step_of_the_database_is_followed_only_with_the_machine_or_against_a_wrong_machine() {
        let known = Judgement { is_measured: true, standing: Standing::Right, ..Judgement::default() };
        let judged = |mut one: Judgement, change, ahead| one.measured(change, ahead);
        assert_eq!(judged(Judgement::default(), 2 * DAY, None), Measured::Followed, "the first one");
        assert_eq!(judged(known, 5_000, Some(DAY)), Measured::Followed);
        assert_eq!(judged(known, 660_000, Some(-660_000)), Measured::Refused);
        assert_eq!(judged(known, -660_000, None), Measured::Refused);
        assert_eq!(judged(known, 3_600_000, Some(3)), Measured::Stepped, "the machine slept");
        let wrong = Judgement { standing: Standing::Wrong, ..known };
        assert_eq!(judged(wrong, 660_000, Some(-660_000)), Measured::Stepped);
    }

    #[test]
    fn a_node_that_starts_with_another_time_than_the_database_uses_what_expires_nothing_or_what_the_others_have()
     {
        // The change of the time in use is the difference itself: the time of the database was used first.
        for (ahead, others, follows_machine) in [
            (DAY, &[][..], false),
            (-DAY, &[], true),
            (DAY, &[DAY], true),
            (-DAY, &[-DAY], true),
            (DAY, &[0], false),
            (-DAY, &[0], false),
        ] {
            let mut judgement = Judgement::default();
            judgement.measured(0, None);
            judgement.began(ahead);
            assert_eq!(judgement.compared(ahead, others, ahead), follows_machine, "{ahead} {others:?}");
            assert!(!judgement.agrees());
        }
        let mut known = Judgement { is_measured: true, standing: Standing::Right, ..Judgement::default() };
        assert!(!known.compared(DAY, &[DAY], DAY), "a running node knows which clock has stepped");
    }

    #[test]
    fn a_difference_is_reported_from_a_second_on() {
        let fault = |standing, ahead| {
            let judgement = Judgement { standing, ahead: Some(ahead), ..Judgement::default() };
            judgement.fault().map(|fault| fault.kind)
        };
        assert_eq!(fault(Standing::Right, 1_000), None);
        assert_eq!(fault(Standing::Right, -1_001), Some(ClockFaultKind::Slight));
        assert_eq!(fault(Standing::Disputed, DAY), Some(ClockFaultKind::Disputed));
        assert_eq!(fault(Standing::Wrong, DAY), Some(ClockFaultKind::Wrong));
    }
}
