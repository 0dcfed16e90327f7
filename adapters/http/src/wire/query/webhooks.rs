//! Queries of webhooks and their deliveries.

use petstore_domain::{
    AccountId, DeliveryStatus, DeliveryStatusSet, EventId, EventKinds, Position, Timestamp, WebhookId,
};
use petstore_ports::SortDirection;

use super::super::cursor::{List, Walk, halves};
use super::super::faults::{FieldFault, listed};
use super::super::links;
use super::events::kinds;
use super::parameters::Parameters;
use super::{LIMIT_MAX, limit, order};
use crate::wire::error::ApiError;

/// The values by which webhooks are sorted. Their ids are random, so the time of the creation comes first.
pub(crate) type WebhookKey = (Timestamp, WebhookId);

/// A list of webhooks, as a client asks for it.
#[derive(Debug)]
pub(crate) struct WebhookListQuery {
    /// The direction of the page.
    pub(crate) order: SortDirection,
    /// The maximum number of webhooks.
    pub(crate) limit: usize,
    /// The webhook after which the page begins.
    pub(crate) after: Option<WebhookKey>,
    pages: Pages,
}

/// A list of deliveries, as a client asks for it.
#[derive(Debug)]
pub(crate) struct DeliveryListQuery {
    /// The states that pass.
    pub(crate) statuses: DeliveryStatusSet,
    /// The kinds of events that pass.
    pub(crate) kinds: EventKinds,
    /// The direction of the page.
    pub(crate) order: SortDirection,
    /// The maximum number of deliveries.
    pub(crate) limit: usize,
    /// The event after which the page begins.
    pub(crate) after: Option<EventId>,
    pages: Pages,
}

/// The links to other pages.
#[derive(Debug)]
struct Pages {
    walk: Walk,
    /// The parameters except the cursor.
    query: String,
}

impl Pages {
    fn links<const N: usize>(&self, origin: &str, path: &str, next: Option<[u64; N]>) -> String {
        let cursor = next.map(|key| self.walk.cursor_after(key));
        links::page_links(origin, path, &self.query, cursor.as_deref())
    }
}

/// `GET /webhooks`. A cursor is valid for the webhooks of one account only.
pub(crate) fn list_webhooks(query: Option<&str>, account: AccountId) -> Result<WebhookListQuery, ApiError> {
    let mut parameters = Parameters::of(query);
    let limit = parameters.one("limit", limit).unwrap_or(LIMIT_MAX);
    let cursor = parameters.cursor();
    let order = parameters.one("sort", creation_order).unwrap_or(SortDirection::Ascending);
    let query = parameters.finish()?;
    // The ids are random, so no webhook of another store has the same one, and the epoch is not needed.
    let walk = Walk::new(List::Webhooks, order, &account, 0);
    let after = cursor.map(|cursor| walk.read_key(&cursor)).transpose()?.and_then(webhook_key);
    Ok(WebhookListQuery { order, limit, after, pages: Pages { walk, query } })
}

/// `GET /webhooks/{webhookId}/deliveries`.
pub(crate) fn list_deliveries(
    query: Option<&str>,
    webhook: WebhookId,
) -> Result<DeliveryListQuery, ApiError> {
    let mut parameters = Parameters::of(query);
    let limit = parameters.one("limit", limit).unwrap_or(LIMIT_MAX);
    let cursor = parameters.cursor();
    let order = parameters.one("sort", order).unwrap_or(SortDirection::Ascending);
    let mut statuses = DeliveryStatusSet::ANY;
    for status in parameters.many("status", status).into_iter().flatten() {
        statuses.add(status);
    }
    let kinds = kinds(&mut parameters);
    let query = parameters.finish()?;
    let walk = Walk::new(List::Deliveries, order, &(webhook, statuses, kinds), 0);
    let key = cursor.map(|cursor| walk.read_key(&cursor)).transpose()?;
    let after = key.and_then(|[epoch, position]| Some(EventId { epoch, position: Position::new(position)? }));
    Ok(DeliveryListQuery { statuses, kinds, order, limit, after, pages: Pages { walk, query } })
}

impl WebhookListQuery {
    /// Returns the `Link` value of the page: to the first page, and to the page after `last` if there is one.
    pub(crate) fn links(&self, origin: &str, path: &str, last: Option<WebhookKey>) -> String {
        let key = |(at, id): WebhookKey| {
            let [high, low] = halves(id.bits());
            [at.as_millis().cast_unsigned(), high, low]
        };
        self.pages.links(origin, path, last.map(key))
    }
}

impl DeliveryListQuery {
    /// Returns the `Link` value of the page: to the first page, and to the page after `last` if there is one.
    pub(crate) fn links(&self, origin: &str, path: &str, last: Option<EventId>) -> String {
        self.pages.links(origin, path, last.map(|id| [id.epoch, id.position.get()]))
    }
}

/// Returns the values in a cursor. Its checksum was right, so the time is one that the server has written.
fn webhook_key([millis, high, low]: [u64; 3]) -> Option<WebhookKey> {
    let at = Timestamp::from_millis(millis.cast_signed()).ok()?;
    Some((at, WebhookId::from_bits(u128::from(high) << 64 | u128::from(low))))
}

fn creation_order(text: &str) -> Result<SortDirection, FieldFault> {
    match text {
        "createdAt" => Ok(SortDirection::Ascending),
        "-createdAt" => Ok(SortDirection::Descending),
        _ => Err(FieldFault::new("unknown_value", "must be createdAt or -createdAt")),
    }
}

fn status(text: &str) -> Result<DeliveryStatus, FieldFault> {
    let words = || listed(DeliveryStatus::ALL.map(DeliveryStatus::as_str));
    DeliveryStatus::parse(text)
        .ok_or_else(|| FieldFault::new("unknown_value", format!("must be one of {}", words())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::error::Code;

    fn next_cursor(links: &str) -> String {
        let (_, rest) = links.split_once("cursor=").expect("a next page");
        rest.split_once('>').unwrap().0.to_owned()
    }

    #[test]
    fn a_cursor_leads_back_to_the_webhook() {
        let account = AccountId::FIRST;
        let key =
            (Timestamp::parse("2030-01-01T12:00:00.001Z").unwrap(), WebhookId::from_bits(u128::MAX - 5));
        let first = list_webhooks(Some("limit=2&sort=-createdAt"), account).unwrap();
        assert_eq!((first.limit, first.order, first.after), (2, SortDirection::Descending, None));
        let cursor = next_cursor(&first.links("http://h", "/v1/webhooks", Some(key)));
        let next = |query: &str| list_webhooks(Some(&format!("{query}&cursor={cursor}")), account);
        assert_eq!(next("limit=3&sort=-createdAt").unwrap().after, Some(key));
        assert_eq!(next("limit=3").unwrap_err().code, Code::InvalidCursor, "another order");
        let other =
            list_webhooks(Some(&format!("sort=-createdAt&cursor={cursor}")), AccountId::new(7).unwrap());
        assert_eq!(other.unwrap_err().code, Code::InvalidCursor, "another account");
    }

    #[test]
    fn a_cursor_leads_back_to_the_delivery() {
        let (one, two) = (WebhookId::from_bits(1), WebhookId::from_bits(2));
        let id = EventId { epoch: u64::MAX, position: Position::new(7).unwrap() };
        let query = "status=failed,pending&type=order.*";
        let first = list_deliveries(Some(query), one).unwrap();
        assert!(
            !first.statuses.admits(DeliveryStatus::Delivered)
                && first.statuses.admits(DeliveryStatus::Failed)
        );
        let cursor = next_cursor(&first.links("http://h", "/p", Some(id)));
        let next = |query: &str, of| list_deliveries(Some(&format!("{query}&cursor={cursor}")), of);
        assert_eq!(next(query, one).unwrap().after, Some(id));
        for refused in [next(query, two), next("type=order.*", one), next("status=failed,pending", one)] {
            assert_eq!(refused.unwrap_err().code, Code::InvalidCursor);
        }
    }

    #[test]
    fn unknown_values_are_refused() {
        for query in ["sort=id", "limit=0", "status=active"] {
            assert_eq!(
                list_webhooks(Some(query), AccountId::FIRST).unwrap_err().code,
                Code::InvalidParameter
            );
        }
        for query in ["sort=createdAt", "status=done", "type=shop.*", "wait=1"] {
            let refused = list_deliveries(Some(query), WebhookId::from_bits(1));
            assert_eq!(refused.unwrap_err().code, Code::InvalidParameter, "{query}");
        }
    }
}
