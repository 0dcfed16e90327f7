//! Withholding the events of accounts that have no valid key with the scope `webhooks`.
//!
//! An event is sent without a key, so the dispatcher asks for the scope of the account instead, twice a second. The webhooks of
//! an account without the scope are withheld: they keep their place, and go on there once the account has the scope again.

use std::collections::BTreeSet;
use std::time::Duration;

use petstore_domain::{AccountId, Scope, Timestamp};
use petstore_ports::StoreError;

use super::machine::Machine;
use super::permits::Permits;
use super::rounds::Rounds;
use super::run::{Dispatcher, Done, Work};

/// The time between two questions for the accounts that have the scope.
const ASK_AGAIN: Duration = Duration::from_millis(500);

impl Machine {
    /// The accounts of the webhooks that are held.
    pub(super) fn accounts(&self) -> Vec<AccountId> {
        let mut accounts: Vec<AccountId> = self.held.values().map(|endpoint| endpoint.account).collect();
        accounts.sort_unstable();
        accounts.dedup();
        accounts
    }

    /// Returns whether it is not known for some account if events of it may be sent.
    pub(super) fn lacks_permits(&self) -> bool {
        self.held.values().any(|endpoint| self.permits.of(endpoint.account).is_none())
    }

    /// Takes the accounts, of those that were asked for, which may have webhooks. Attempts in flight end by themselves.
    pub(super) fn permit(&mut self, asked: &[AccountId], permitted: &BTreeSet<AccountId>, now: Timestamp) {
        let before = std::mem::replace(&mut self.permits, Permits::new(asked, permitted));
        let changed = self.held.iter().filter(|(_, endpoint)| {
            let account = endpoint.account;
            before.of(account).unwrap_or(false) != self.permits.of(account).unwrap_or(false)
        });
        for id in changed.map(|(id, _)| *id).collect::<Vec<_>>() {
            let Some(endpoint) = self.held.get_mut(&id) else { continue };
            let wake = endpoint.wake(now);
            self.schedule(id, wake, now);
        }
    }
}

impl Dispatcher {
    /// Asks which accounts may have webhooks: at once for the first webhook of an account, and else from time to time.
    pub(super) fn ask_for_permits(
        &self,
        machine: &mut Machine,
        rounds: &mut Rounds,
        work: &Work,
        now: Timestamp,
    ) {
        if machine.held.is_empty() {
            // While nothing is asked, the last answer grows old.
            machine.permits = Permits::default();
            return;
        }
        let elapsed = self.deadlines.elapsed();
        let is_due = elapsed >= rounds.next_permits || rounds.has_new_accounts;
        if rounds.is_asking_permits || !is_due {
            return;
        }
        (rounds.is_asking_permits, rounds.has_new_accounts) = (true, false);
        rounds.next_permits = elapsed + ASK_AGAIN;
        let accounts = machine.accounts();
        let reply = self.ports.scopes.accounts_with(Scope::Webhooks, accounts.clone(), now);
        let reply = self.deadlines.reply(reply);
        work.push(Box::pin(async move { Done::Permitted(accounts, reply.await) }));
    }

    /// Takes the answer. After a failure the last answer counts, because the attempts need the store, too.
    pub(super) fn take_permits(
        machine: &mut Machine,
        rounds: &mut Rounds,
        asked: &[AccountId],
        result: Result<Vec<AccountId>, StoreError>,
        now: Timestamp,
    ) {
        rounds.is_asking_permits = false;
        if let Ok(permitted) = result {
            machine.permit(asked, &permitted.into_iter().collect(), now);
            rounds.has_new_accounts = machine.lacks_permits();
        }
    }
}
