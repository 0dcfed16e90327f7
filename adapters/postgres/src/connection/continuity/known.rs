//! The comparison of a state of the database with what was seen before.

use std::fmt;
use std::time::Duration;

use chrono::{DateTime, Utc};
use petstore_domain::Position;
use petstore_ports::LogEnd;
use tokio::time::Instant;

/// The age up to which a commit of this handle is looked for, by the clock of instants and by the database's. The database keeps
/// the tokens of commits for ten minutes.
const COMMIT_AGE_MAX: Duration = Duration::from_mins(5);

/// The properties by which a batch of events is recognised. Two batches that got the same position in two histories of the
/// database do not share all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) seq: i64,
    pub(crate) events: i32,
    pub(crate) first_at: DateTime<Utc>,
    pub(crate) latest_at: DateTime<Utc>,
    pub(crate) bytes: i32,
    /// The end of the body.
    pub(crate) tail: [u8; 32],
}

/// The state of the database as this handle has seen it last.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Known {
    /// The end of the event log, and the batch at this end; none before the first check.
    log: Option<KnownLog>,
    /// The last commit of this handle.
    pub(super) commit: Option<Commit>,
    /// The time of the last check that has found all of it on the server that the shop has recorded; none before.
    pub(super) checked: Option<Instant>,
    /// The number of changes of accounts and keys.
    key_changes: i64,
}

/// A commit that was confirmed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Commit {
    pub(super) token: [u8; 16],
    pub(super) at: Instant,
    /// The time by the database's clock, in microseconds since 1970.
    pub(super) shown: i64,
}

impl Commit {
    /// Returns whether the token must be there if the database shows this time: it is not as old as those that are dropped,
    /// whichever way the clock of the database has stepped.
    fn must_be_there(&self, shown: i64) -> bool {
        let age = shown.abs_diff(self.shown);
        u128::from(age) < COMMIT_AGE_MAX.as_micros()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct KnownLog {
    epoch_number: u64,
    end: LogEnd,
    newest: Option<Mark>,
}

/// The standbys that commits wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standbys {
    /// True if commits wait for a standby.
    pub(crate) are_awaited: bool,
    /// True if the shop has recorded that they do.
    pub(crate) are_recorded: bool,
}

/// The server of a connection, compared with the one that the shop has recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum History {
    /// The server does not tell its timeline, or accepts no writes.
    Unknown,
    /// It is the recorded one.
    Same,
    /// It is another one, or none is recorded. Nothing is written before the epoch is decided.
    Undecided,
}

/// The state of the database, as one statement finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DatabaseState {
    pub(crate) shop_epoch: u64,
    pub(crate) epoch_number: u64,
    pub(crate) end: LogEnd,
    pub(crate) pruned: Position,
    /// The batch at the position that was asked for; none if there is none.
    pub(crate) batch: Option<Mark>,
    /// True if the commit that was asked for is there, or none was asked for.
    pub(crate) has_commit: bool,
    pub(crate) key_changes: i64,
    /// The time of the database, in microseconds since 1970.
    pub(crate) shown: i64,
    /// True if the server accepts no writes.
    pub(crate) is_read_only: bool,
    pub(crate) standbys: Standbys,
    pub(crate) history: History,
}

/// The first difference that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    /// The log ends before this position.
    Shorter(Position),
    /// Another batch has this position.
    OtherBatch(Position),
    /// The last commit of this handle.
    Commit,
    /// Changes of accounts or keys.
    Keys,
    /// The epoch of the log.
    Epoch,
}

/// The result of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The database has all that was seen.
    Same,
    /// A later epoch has begun.
    OtherEpoch,
    /// The database lacks something.
    Lost(Loss),
}

impl Known {
    /// The position of the batch, and the token of the commit, that are to be looked for.
    pub(super) fn asked(&self, now: Instant) -> (Option<i64>, Option<[u8; 16]>) {
        let position = self.log.filter(|log| log.newest.is_some()).map(|log| log.end.last.get());
        let position = position.map(|position| i64::try_from(position).unwrap_or(i64::MAX));
        // The token of a commit that was recent at the last check is looked for however long the database was away.
        let checked = self.checked.unwrap_or(now);
        let recent = |commit: &Commit| checked.saturating_duration_since(commit.at) < COMMIT_AGE_MAX;
        (position, self.commit.filter(recent).map(|commit| commit.token))
    }

    /// Takes over an end of the log, unless a later one is known.
    pub(super) fn read(&mut self, epoch_number: u64, end: LogEnd, newest: Option<Mark>) {
        let is_later = self.log.is_none_or(|known| {
            let (before, after) = ((known.epoch_number, known.end.last), (epoch_number, end.last));
            after > before || after == before && known.newest.is_none()
        });
        if is_later {
            self.log = Some(KnownLog { epoch_number, end, newest });
        }
    }

    /// Compares a state of the database, in which [`Known::asked`] was looked for.
    pub(super) fn judge(&self, found: &DatabaseState) -> Verdict {
        let Some(KnownLog { epoch_number, end, newest }) = self.log else { return Verdict::Same };
        if found.end.epoch != end.epoch {
            // A new epoch is legitimate only if its number is higher.
            let is_later = found.epoch_number > epoch_number;
            return if is_later { Verdict::OtherEpoch } else { Verdict::Lost(Loss::Epoch) };
        }
        if found.end.last < end.last {
            return Verdict::Lost(Loss::Shorter(end.last));
        }
        // A batch that was dropped because of its age cannot be compared.
        if found.pruned < end.last && newest.is_some() && newest != found.batch {
            return Verdict::Lost(Loss::OtherBatch(end.last));
        }
        // Another server, whose clock may differ, drops no token before the epoch is decided.
        let must_be_there =
            |commit: Commit| found.history == History::Undecided || commit.must_be_there(found.shown);
        if !found.has_commit && self.commit.is_none_or(must_be_there) {
            return Verdict::Lost(Loss::Commit);
        }
        if found.key_changes < self.key_changes {
            return Verdict::Lost(Loss::Keys);
        }
        Verdict::Same
    }

    /// Returns whether a state is at least as late as what is known.
    pub(super) fn follows(&self, found: &DatabaseState) -> bool {
        self.log.is_none_or(|known| found.epoch_number >= known.epoch_number)
    }

    /// Takes over a state that follows. In a later epoch nothing of the time before is looked for.
    pub(super) fn adopt(&mut self, found: &DatabaseState) {
        if self.log.is_none_or(|known| known.epoch_number < found.epoch_number) {
            *self = Self::default();
            self.read(found.epoch_number, found.end, None);
        }
        self.key_changes = self.key_changes.max(found.key_changes);
    }

    pub(super) fn has_log(&self) -> bool {
        self.log.is_some()
    }

    /// The number of the epoch that is known.
    pub(super) fn epoch_number(&self) -> u64 {
        self.log.map_or(0, |log| log.epoch_number)
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shorter(last) => write!(f, "the events up to position {last}"),
            Self::OtherBatch(last) => write!(f, "the event at position {last}, which is another one now"),
            Self::Commit => f.write_str("the last change that this node had acknowledged"),
            Self::Keys => f.write_str("changes of accounts or keys"),
            Self::Epoch => f.write_str("the epoch of the event log"),
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone;

    use super::*;

    const EPOCH: u64 = 7;

    /// The time of the database, in microseconds.
    const SHOWN: i64 = 1_000_000_000_000;

    fn position(number: u64) -> Position {
        Position::new(number).unwrap()
    }

    fn end(epoch: u64, last: u64) -> LogEnd {
        LogEnd { epoch, last: position(last) }
    }

    fn mark(seq: i64) -> Mark {
        let at = Utc.timestamp_opt(1, 0).unwrap();
        Mark { seq, events: 2, first_at: at, latest_at: at, bytes: 40, tail: [1; 32] }
    }

    /// A handle that has read up to position 10 of epoch 7, the second one, and has committed.
    fn known() -> Known {
        let mut known = Known::default();
        known.read(2, end(EPOCH, 10), Some(mark(5)));
        known.commit = Some(Commit { token: [1; 16], at: Instant::now(), shown: SHOWN });
        known.key_changes = 4;
        known
    }

    /// A database that has all of it, and more.
    fn found() -> DatabaseState {
        DatabaseState {
            shop_epoch: 9,
            epoch_number: 2,
            end: end(EPOCH, 12),
            pruned: position(3),
            batch: Some(mark(5)),
            has_commit: true,
            key_changes: 6,
            shown: SHOWN + 1_000_000,
            is_read_only: false,
            standbys: Standbys { are_awaited: false, are_recorded: false },
            history: History::Same,
        }
    }

    #[test]
    fn a_database_that_has_all_is_the_same_one() {
        assert_eq!(known().judge(&found()), Verdict::Same);
        assert_eq!(Known::default().judge(&found()), Verdict::Same, "nothing was seen");
        let pruned = DatabaseState { pruned: position(10), batch: None, ..found() };
        assert_eq!(known().judge(&pruned), Verdict::Same, "the batch was dropped");
    }

    #[test]
    fn each_loss_is_found() {
        for (state, loss) in [
            (DatabaseState { end: end(EPOCH, 9), ..found() }, Loss::Shorter(position(10))),
            (DatabaseState { batch: None, ..found() }, Loss::OtherBatch(position(10))),
            (DatabaseState { batch: Some(mark(6)), ..found() }, Loss::OtherBatch(position(10))),
            (
                DatabaseState { batch: Some(Mark { tail: [2; 32], ..mark(5) }), ..found() },
                Loss::OtherBatch(position(10)),
            ),
            (DatabaseState { has_commit: false, ..found() }, Loss::Commit),
            (DatabaseState { key_changes: 3, ..found() }, Loss::Keys),
            (DatabaseState { end: end(8, 12), epoch_number: 1, ..found() }, Loss::Epoch),
            (DatabaseState { end: end(8, 12), ..found() }, Loss::Epoch),
        ] {
            assert_eq!(known().judge(&state), Verdict::Lost(loss), "{state:?}");
        }
    }

    #[test]
    fn a_later_epoch_is_used_and_nothing_of_the_earlier_one_is_looked_for() {
        let later = DatabaseState {
            end: end(8, 1),
            epoch_number: 3,
            batch: None,
            has_commit: false,
            key_changes: 0,
            ..found()
        };
        let mut known = known();
        assert_eq!(known.judge(&later), Verdict::OtherEpoch);
        known.adopt(&later);
        assert_eq!(known.asked(Instant::now()), (None, None));
        let next = DatabaseState { has_commit: true, ..later };
        assert_eq!(known.judge(&next), Verdict::Same, "no commit was asked for");
        assert!(!known.follows(&found()), "an answer from before the epoch is late");
    }

    #[test]
    fn a_commit_that_is_missing_after_a_step_of_the_clock_is_no_loss() {
        let lacks = |shown| DatabaseState { has_commit: false, shown, ..found() };
        let minutes = |minutes: i64| minutes * 60_000_000;
        for (step, verdict) in [
            (minutes(4), Verdict::Lost(Loss::Commit)),
            (minutes(-4), Verdict::Lost(Loss::Commit)),
            (minutes(11), Verdict::Same),
            (minutes(-11), Verdict::Same),
        ] {
            assert_eq!(known().judge(&lacks(SHOWN + step)), verdict, "{step}");
        }
    }

    #[test]
    fn a_commit_that_another_server_lacks_is_a_loss_whatever_its_clock_shows() {
        for minutes in [0, 11, -11] {
            let shown = SHOWN + minutes * 60_000_000;
            let other = DatabaseState { has_commit: false, history: History::Undecided, shown, ..found() };
            assert_eq!(known().judge(&other), Verdict::Lost(Loss::Commit), "{minutes}");
        }
    }

    #[test]
    fn a_commit_that_was_recent_at_the_last_check_is_looked_for_later_too() {
        let now = Instant::now();
        let known = Known { checked: Some(now), ..known() };
        assert_eq!(known.asked(now + 2 * COMMIT_AGE_MAX), (Some(10), Some([1; 16])));
        let later = Known { checked: Some(now + 2 * COMMIT_AGE_MAX), ..known };
        assert_eq!(later.asked(now + 2 * COMMIT_AGE_MAX), (Some(10), None));
    }

    #[test]
    fn only_recent_commits_are_looked_for() {
        let (known, now) = (known(), Instant::now());
        assert_eq!(known.asked(now), (Some(10), Some([1; 16])));
        assert_eq!(known.asked(now + COMMIT_AGE_MAX), (Some(10), None));
    }
}
