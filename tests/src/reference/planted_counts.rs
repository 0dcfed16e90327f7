//! Planted bugs of counting.

use petstore_domain::{Window, WindowKind, Windows};
use petstore_ports::{Ask, Cost, Verdict};

use super::planted_reads::pause_blocking;
use super::{Bug, ReferenceStore};

impl ReferenceStore {
    /// Takes one request in two steps, or by a window that may decrease, if the bug is one of these.
    pub(super) fn take_with_bug(&self, ask: &Ask) -> Option<Verdict> {
        let mut state = self.lock();
        let banned = state.ban(ask.key).is_some_and(|ban| ban.in_force(ask.now));
        let windows = state.windows(ask.account);
        let taken = windows.take(ask.now, ask.limits);
        if banned || ask.cost == Cost::Nothing {
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
                let before = state.ban(ask.key);
                let verdict = state.strike(ask, windows);
                state.tables.keys.get_mut(&ask.key)?.ban = before;
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
