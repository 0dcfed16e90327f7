//! The places for attempts, and which webhook gets the next one.

use std::collections::{HashMap, HashSet, VecDeque};

use petstore_domain::{AccountId, WebhookId};

/// The number of attempts of all webhooks that are in flight at a time.
pub(super) const PLACES: usize = 256;

/// The attempts in flight of each account, and the webhooks with an attempt that is due.
///
/// Accounts take turns, and so do the webhooks of an account. An account gets a further place only while it has fewer than half
/// as many as are free. So accounts that come at the same time have equal shares, an account alone has at most a third of the
/// places, and there are free places for the next account, although the attempts of the others hang.
#[derive(Debug, Default)]
pub(super) struct Places {
    taken: HashMap<AccountId, usize>,
    count: usize,
    /// The accounts with a webhook that is due, each of them once, in the order of their turns.
    turns: VecDeque<AccountId>,
    /// The webhooks that are due of each of these accounts, each of them once, in the order of their turns.
    due: HashMap<AccountId, VecDeque<WebhookId>>,
    is_due: HashSet<WebhookId>,
}

impl Places {
    /// Lines up a webhook that has an attempt to make.
    pub(super) fn line_up(&mut self, account: AccountId, id: WebhookId) {
        if !self.is_due.insert(id) {
            return;
        }
        let webhooks = self.due.entry(account).or_default();
        if webhooks.is_empty() {
            self.turns.push_back(account);
        }
        webhooks.push_back(id);
    }

    /// Removes a webhook from the line.
    pub(super) fn leave(&mut self, account: AccountId, id: WebhookId) {
        if !self.is_due.remove(&id) {
            return;
        }
        if let Some(webhooks) = self.due.get_mut(&account) {
            webhooks.retain(|other| *other != id);
            if webhooks.is_empty() {
                self.due.remove(&account);
                self.turns.retain(|other| *other != account);
            }
        }
    }

    /// Removes and returns the webhook whose turn it is; none if no account may have a further place now.
    pub(super) fn next(&mut self) -> Option<WebhookId> {
        if self.count >= PLACES {
            return None;
        }
        // An account that has to wait has a place. So few accounts are passed over.
        for _ in 0..self.turns.len() {
            let account = self.turns.pop_front()?;
            if !self.has_share(account) {
                self.turns.push_back(account);
                continue;
            }
            let mut webhooks = self.due.remove(&account)?;
            let id = webhooks.pop_front()?;
            self.is_due.remove(&id);
            if !webhooks.is_empty() {
                self.due.insert(account, webhooks);
                self.turns.push_back(account);
            }
            return Some(id);
        }
        None
    }

    fn has_share(&self, account: AccountId) -> bool {
        2 * self.taken_by(account) < PLACES - self.count
    }

    fn taken_by(&self, account: AccountId) -> usize {
        self.taken.get(&account).copied().unwrap_or(0)
    }

    /// Takes a place that [`Places::next`] has granted.
    pub(super) fn take(&mut self, account: AccountId) {
        self.count += 1;
        *self.taken.entry(account).or_default() += 1;
    }

    /// Frees places.
    pub(super) fn free(&mut self, account: AccountId, places: usize) {
        let Some(taken) = self.taken.get_mut(&account) else { return };
        let places = places.min(*taken);
        *taken -= places;
        self.count -= places;
        if *taken == 0 {
            self.taken.remove(&account);
        }
    }

    /// The number of places that are taken.
    pub(super) const fn taken(&self) -> usize {
        self.count
    }

    /// Returns whether no webhook is in the line.
    pub(super) fn is_idle(&self) -> bool {
        self.turns.is_empty()
    }

    /// The accounts with webhooks that wait for a place, each with the number of its places.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (AccountId, usize)> {
        let waiting = self.turns.iter().filter(|account| !self.has_share(**account));
        waiting.map(|account| (*account, self.taken_by(*account)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(number: u64) -> AccountId {
        AccountId::new(number).unwrap()
    }

    fn webhook(number: u64) -> WebhookId {
        WebhookId::from_bits(u128::from(number))
    }

    /// Lets accounts take what they may, each with one webhook of its own number that is always due.
    fn fill(places: &mut Places, accounts: std::ops::RangeInclusive<u64>) {
        accounts.clone().for_each(|number| places.line_up(account(number), webhook(number)));
        while let Some(id) = places.next() {
            let number = (1..=1_000).find(|number| webhook(*number) == id).unwrap();
            places.take(account(number));
            places.line_up(account(number), id);
        }
    }

    #[test]
    fn an_account_alone_has_a_third_of_the_places_and_many_have_equal_shares() {
        let mut places = Places::default();
        fill(&mut places, 1..=1);
        assert!((85..=86).contains(&places.taken_by(account(1))), "{places:?}");
        let mut places = Places::default();
        fill(&mut places, 1..=8);
        for number in 1..=8 {
            assert!((25..=26).contains(&places.taken_by(account(number))), "{places:?}");
        }
        assert_eq!(places.waiting().count(), 8);
        // Another account finds free places at once, and those that wait are told.
        assert!(PLACES - places.taken() >= 48);
        places.line_up(account(9), webhook(9));
        assert_eq!(places.next(), Some(webhook(9)));
        assert!(places.waiting().all(|(account, taken)| account.get() != 9 && taken >= 25));
    }

    #[test]
    fn accounts_that_come_one_after_the_other_leave_places_to_the_next() {
        let mut places = Places::default();
        for number in 1..=8 {
            fill(&mut places, number..=number);
        }
        assert!(places.taken_by(account(8)) >= 3, "{places:?}");
        assert!(PLACES - places.taken() >= 8, "{places:?}");
    }

    #[test]
    fn as_many_accounts_as_there_are_places_leave_none_and_no_more_are_taken() {
        let mut places = Places::default();
        fill(&mut places, 1..=1_000);
        assert_eq!(places.taken(), PLACES);
        places.free(account(1), 1_000);
        assert_eq!(places.taken(), PLACES - 1);
        assert!(places.next().is_some());
    }

    #[test]
    fn accounts_take_turns_and_so_do_their_webhooks() {
        let mut places = Places::default();
        for id in 1..=3 {
            places.line_up(account(1), webhook(id));
            places.line_up(account(1), webhook(id));
        }
        places.line_up(account(2), webhook(4));
        places.leave(account(1), webhook(2));
        places.leave(account(1), webhook(2));
        let turns: Vec<_> = std::iter::from_fn(|| places.next()).collect();
        assert_eq!(turns, [webhook(1), webhook(4), webhook(3)]);
        assert!(places.is_idle());
        places.line_up(account(2), webhook(4));
        places.leave(account(2), webhook(4));
        assert!(places.is_idle() && places.next().is_none());
    }
}
