//! The number of times in a minute that an account may start deliveries.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use petstore_domain::{AccountId, StartsUsedUp};

/// The time in which the starts are counted. It begins with the first of them.
const WINDOW: Duration = Duration::from_mins(1);

/// Counts the starts of each account in this process: a start lets the dispatcher read the log from another place, and may
/// be followed by attempts at once.
#[derive(Debug)]
pub(super) struct StartLimit {
    max: u32,
    windows: Mutex<HashMap<AccountId, Window>>,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    begun: Duration,
    count: u32,
}

impl StartLimit {
    /// Permits `max` starts of an account in a minute.
    pub(super) fn new(max: u32) -> Self {
        Self { max, windows: Mutex::default() }
    }

    /// Counts a start.
    ///
    /// # Errors
    /// The account has used up the starts of this minute. The start is not counted.
    pub(super) fn take(&self, account: AccountId, now: Duration) -> Result<(), StartsUsedUp> {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = |window: &Window| now.saturating_sub(window.begun) >= WINDOW;
        if windows.get(&account).is_none_or(is_over) {
            windows.retain(|_, window| !is_over(window));
            windows.insert(account, Window { begun: now, count: 0 });
        }
        let window = windows.entry(account).or_insert(Window { begun: now, count: 0 });
        if window.count >= self.max {
            let wait = (window.begun + WINDOW).saturating_sub(now);
            return Err(StartsUsedUp { max: self.max, wait });
        }
        window.count += 1;
        Ok(())
    }

    /// Takes the last start of an account back, because no deliveries were started.
    pub(super) fn give_back(&self, account: AccountId) {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(window) = windows.get_mut(&account) {
            window.count = window.count.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_has_its_number_in_each_minute_and_others_have_theirs() {
        let limit = StartLimit::new(2);
        let [one, other] = [1, 2].map(|number| AccountId::new(number).unwrap());
        let at = |millis| Duration::from_millis(millis);
        let used_up = |millis| Err(StartsUsedUp { max: 2, wait: at(millis) });
        assert_eq!([limit.take(one, at(5_000)), limit.take(one, at(6_000))], [Ok(()), Ok(())]);
        assert_eq!(limit.take(one, at(6_000)), used_up(59_000));
        assert_eq!(limit.take(one, at(64_999)), used_up(1));
        assert_eq!(limit.take(other, at(64_999)), Ok(()));
        assert_eq!([limit.take(one, at(65_000)), limit.take(one, at(65_000))], [Ok(()), Ok(())]);
        assert_eq!(limit.take(one, at(65_000)), used_up(60_000));
        limit.give_back(one);
        assert_eq!(limit.take(one, at(65_000)), Ok(()), "the last one was taken back");
        assert_eq!(limit.take(one, at(65_000)), used_up(60_000));
        assert_eq!(limit.take(other, at(200_000)), Ok(()));
        assert_eq!(limit.windows.lock().unwrap().len(), 1, "those of past minutes are forgotten");
    }
}
