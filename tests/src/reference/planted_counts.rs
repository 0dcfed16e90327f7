//! Planted bugs of counting.

use petstore_domain::{Window, WindowKind, Windows};
use petstore_ports::{Ask, Cost, RecordedBan, Verdict};

use super::planted_reads::pause_blocking;
use super::{Bug, ReferenceStore};

impl ReferenceStore {
    /// Takes one request with the planted bug if the bug affects this request. Returns none otherwise.
    pub(super) fn take_with_bug(&self, ask: &Ask) -> Option<Verdict> {
        let mut state = self.lock();
        match self.bug? {
            Bug::BanOutlivesLift => {
                let recorded_ban = RecordedBan { lifted_at: None, ..ask.recorded_ban };
                return Some(state.take(&Ask { recorded_ban, ..*ask }));
            }
            Bug::StrikesOutliveLift => {
                state.counters.lifts.extend(ask.recorded_ban.lifted_at.map(|lift| (ask.key, lift)));
            }
            _ => {}
        }
        let banned = state.banned(ask).is_some();
        let windows = state.windows(ask.account);
        let taken = windows.take(ask.now, ask.limits);
        if banned || ask.cost != Cost::One {
            return None;
        }
        match (self.bug?, taken) {
            (Bug::WindowsRace, Some(after)) => {
                drop(state);
                pause_blocking();
                let mut state = self.lock();
                state.counters.windows.insert(ask.account, after);
                Some(Verdict::Admitted(after.usage(ask.limits)))
            }
            (Bug::WindowFalls, _) => {
                let other = windows.minute.number() != WindowKind::Minute.number_at(ask.now);
                let fresh = Windows {
                    minute: Window::new(WindowKind::Minute.number_at(ask.now), 0),
                    day: windows.day,
                };
                let after = if other { fresh } else { windows }.take(ask.now, ask.limits)?;
                state.counters.windows.insert(ask.account, after);
                Some(Verdict::Admitted(after.usage(ask.limits)))
            }
            (Bug::StrikesRace, None) => {
                let before = state.counters.strikes.get(&ask.key).copied().unwrap_or_default();
                drop(state);
                pause_blocking();
                let mut state = self.lock();
                state.counters.strikes.insert(ask.key, before);
                Some(state.strike(ask, windows))
            }
            (Bug::BanForgotten, None) => {
                let before = state.counters.bans.clone();
                let verdict = state.strike(ask, windows);
                state.counters.bans = before;
                Some(match verdict {
                    Verdict::Banned { until, .. } => Verdict::Banned { until, unrecorded: None },
                    verdict => verdict,
                })
            }
            (Bug::BanWaitsForRecord, None) => {
                let before = state.counters.bans.clone();
                let verdict = state.strike(ask, windows);
                state.counters.bans = before;
                Some(verdict)
            }
            (Bug::StrikesOutliveBan, None) => {
                let before = state.counters.strikes.get(&ask.key).copied();
                let verdict = state.strike(ask, windows);
                if matches!(verdict, Verdict::Banned { .. }) {
                    state.counters.strikes.extend(before.map(|strikes| (ask.key, strikes)));
                }
                Some(verdict)
            }
            _ => None,
        }
    }
}
