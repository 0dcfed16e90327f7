//! Operations that start deliveries: an account may have a number of them in a minute.

use petstore_domain::{AccountId, Refused, Repeatable, StartsUsedUp};
use petstore_ports::api::{Failure, IdempotentRequest, Repeated};

use super::WebhookService;

impl WebhookService {
    /// Counts a start of deliveries.
    pub(super) fn count_start(&self, account: AccountId) -> Result<(), StartsUsedUp> {
        let Some(limit) = &self.starts else { return Ok(()) };
        limit.take(account, self.service.deadlines.elapsed())
    }

    /// Does not count a start any more if its request has started no deliveries. One whose outcome is unknown stays counted.
    fn settle_start<T, R>(&self, account: AccountId, made: &Repeated<T, R>) {
        let is_none = match made {
            Ok(answered) => answered.replayed || answered.result.is_err(),
            Err(Failure::Store(_)) => false,
            Err(_) => true,
        };
        if let Some(limit) = self.starts.as_ref().filter(|_| is_none) {
            limit.give_back(account);
        }
    }

    /// Runs an operation that starts deliveries, and counts the start. If the starts are used up, it is refused.
    pub(super) async fn start_once<O: Repeatable<Rejection: Clone + Sync + From<StartsUsedUp> + 'static>>(
        &self,
        account: AccountId,
        operation: O,
        retry: Option<IdempotentRequest<'_>>,
    ) -> Repeated<O::Output, O::Rejection> {
        if let Err(why) = self.count_start(account) {
            return self.refuse(operation, why.into(), retry).await;
        }
        let made = self.service.submit_once(operation, retry).await;
        self.settle_start(account, &made);
        made
    }

    /// Refuses an operation, unless the answer to the same request is kept.
    pub(super) async fn refuse<O: Repeatable<Rejection: Clone + Sync + 'static>>(
        &self,
        operation: O,
        rejection: O::Rejection,
        retry: Option<IdempotentRequest<'_>>,
    ) -> Repeated<O::Output, O::Rejection> {
        if retry.is_none() {
            return Err(Failure::Rejected(rejection));
        }
        self.service.submit_once(Refused { operation, rejection }, retry).await
    }
}
