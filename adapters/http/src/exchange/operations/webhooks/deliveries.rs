//! The deliveries of a webhook.

use hyper::StatusCode;
use petstore_ports::DeliveryQuery;

use super::super::Handled;
use super::super::rejections::Refuse;
use super::WebhookRequest;
use crate::response::answer::Answer;
use crate::wire;

impl WebhookRequest<'_> {
    pub(super) async fn list_deliveries(&self) -> Handled {
        let call = self.call;
        let id = self.webhook_id()?;
        let query = wire::list_deliveries(call.query(), id)?;
        let page = DeliveryQuery {
            webhook: id,
            statuses: query.statuses,
            kinds: query.kinds,
            order: query.order,
            after: query.after,
            // One more than the page has, which tells whether another page follows.
            limit: query.limit + 1,
        };
        let found = self.api.list_deliveries(call.admission.account, page).await?;
        let mut deliveries = found.ok_or_else(|| call.not_found())?;
        let has_more = deliveries.len() > query.limit;
        deliveries.truncate(query.limit);
        let last = deliveries.last().map(|delivery| delivery.event).filter(|_| has_more);
        let links = query.links(&call.origin(), call.parts.uri.path(), last);
        Ok(self.listed(links, &deliveries, wire::push_delivery))
    }

    pub(super) async fn delivery(&self) -> Handled {
        let (id, event) = self.delivery_ids()?;
        wire::no_parameters(self.call.query())?;
        let found = self.api.delivery(self.call.admission.account, id, event).await?;
        let detail = found.ok_or_else(|| self.call.not_found())?;
        let body = self.call.thread.arena.cut(|out| wire::push_delivery_detail(out, &detail));
        Ok(Answer::json(StatusCode::OK, body))
    }

    pub(super) async fn redeliver(&self) -> Handled {
        let call = self.call;
        let (id, event) = self.delivery_ids()?;
        wire::no_parameters(call.query())?;
        call.no_precondition()?;
        let requested = self.api.redeliver(call.admission.account, id, event).await;
        let delivery = requested.map_err(|failure| failure.answer(call))?;
        let body = call.thread.arena.cut(|out| wire::push_delivery(out, &delivery));
        Ok(Answer::json(StatusCode::ACCEPTED, body))
    }
}
