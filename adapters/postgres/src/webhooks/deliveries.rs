//! The deliveries of webhooks.

use std::collections::BTreeMap;

use petstore_domain::{Delivery, DeliveryStatus, DeliveryUpdate, EventId, EventKind, Progress, WebhookId};
use petstore_ports::{
    DeliveryLease, DeliveryQuery, LeaseState, SETTLED_KEPT, SETTLED_KEPT_FOR, SortDirection, StoreError,
};

use crate::queries::{Parameters, Pool};
use crate::records::{Fields, Record, stored, stored_option};

/// Saves progress and deliveries if the lease is held, and drops settled deliveries that are no longer kept. The statement may
/// be repeated.
const SAVE: &str = "with held as (
        update webhook_leases set progress = $4::text::json where webhook = $1 and number = $2 and node = $3
        returning webhook
    ), written as (
        insert into webhook_deliveries (webhook, event, type, status, attempts, log, next_attempt_at, updated_at)
        select held.webhook, new.* from held, (
            select event, type, status, attempts, log::json, next_attempt_at, updated_at
            from unnest($5::text[], $6::text[], $7::text[], $8::int8[], $9::text[], $10::timestamptz[], $11::timestamptz[])
                as rows (event, type, status, attempts, log, next_attempt_at, updated_at)
        ) as new
        on conflict (webhook, event) do update set type = excluded.type, status = excluded.status,
            attempts = excluded.attempts, log = excluded.log, next_attempt_at = excluded.next_attempt_at,
            updated_at = excluded.updated_at
    ), dropped as (
        delete from webhook_deliveries using held
        where webhook_deliveries.webhook = held.webhook and status <> 'pending' and event <> all ($5::text[]) and (
            updated_at < $12::timestamptz or event <= (
                select event from webhook_deliveries
                where webhook = $1 and status <> 'pending' order by event desc offset $13::int8 limit 1
            )
        )
    )
    select count(*) from held";

impl Record for Delivery {
    const TABLE: &'static str = "webhook_deliveries";
    const COLUMNS: &'static str =
        "webhook, event, type, status, attempts, log::text, next_attempt_at, updated_at";

    fn read(fields: &mut Fields<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            webhook: fields.parsed(WebhookId::parse)?,
            event: fields.parsed(EventId::parse)?,
            kind: fields.parsed(|word| EventKind::parse(word).ok_or("is not a type of event"))?,
            status: fields.parsed(|word| DeliveryStatus::parse(word).ok_or("is not a state"))?,
            attempts: fields.number(|number| u32::try_from(number).map_err(|_| "is too large"))?,
            log: fields.parsed(petstore_outcome_json::parse_attempts)?,
            next_attempt_at: fields.optional_time()?,
            updated_at: fields.time()?,
        })
    }
}

/// Saves progress and changes of deliveries. Only the holder of the lease changes deliveries, so they can be read first.
pub(super) async fn save(
    pool: Pool,
    node: i64,
    lease: DeliveryLease,
    progress: Progress,
    updates: Vec<DeliveryUpdate>,
) -> Result<LeaseState, StoreError> {
    let changed = changed(&pool, lease.webhook, updates).await?;
    let latest = changed.iter().map(|delivery| delivery.updated_at).max();
    let not_before = latest.map(|latest| stored(latest.minus(SETTLED_KEPT_FOR)));
    let kept = i64::try_from(SETTLED_KEPT).unwrap_or(i64::MAX);
    let events: Vec<String> = changed.iter().map(|delivery| delivery.event.to_string()).collect();
    let parameters: Parameters = vec![
        Box::new(lease.webhook.to_string()),
        Box::new(i64::try_from(lease.number).unwrap_or(i64::MAX)),
        Box::new(node),
        Box::new(petstore_outcome_json::write_progress(&progress)),
        Box::new(events),
        Box::new(changed.iter().map(|delivery| delivery.kind.as_str()).collect::<Vec<_>>()),
        Box::new(changed.iter().map(|delivery| delivery.status.as_str()).collect::<Vec<_>>()),
        Box::new(changed.iter().map(|delivery| i64::from(delivery.attempts)).collect::<Vec<_>>()),
        Box::new(
            changed
                .iter()
                .map(|delivery| petstore_outcome_json::write_attempts(&delivery.log))
                .collect::<Vec<_>>(),
        ),
        Box::new(changed.iter().map(|delivery| stored_option(delivery.next_attempt_at)).collect::<Vec<_>>()),
        Box::new(changed.iter().map(|delivery| stored(delivery.updated_at)).collect::<Vec<_>>()),
        Box::new(not_before),
        Box::new(kept),
    ];
    let rows = pool.rows(SAVE.to_owned(), parameters).await?;
    let held: i64 = match rows.first() {
        Some(row) => Fields::of("webhook_leases", row).plain()?,
        None => 0,
    };
    Ok(if held > 0 { LeaseState::Held } else { LeaseState::Lost })
}

/// The deliveries after some changes.
async fn changed(
    pool: &Pool,
    webhook: WebhookId,
    updates: Vec<DeliveryUpdate>,
) -> Result<Vec<Delivery>, StoreError> {
    if updates.is_empty() {
        return Ok(Vec::new());
    }
    let events: Vec<String> = updates.iter().map(|update| update.event.to_string()).collect();
    let sql = format!(
        "select {} from webhook_deliveries where webhook = $1 and event = any($2::text[])",
        Delivery::COLUMNS
    );
    let rows = pool.rows(sql, vec![Box::new(webhook.to_string()), Box::new(events)]).await?;
    let mut all: BTreeMap<EventId, Delivery> = BTreeMap::new();
    for row in &rows {
        let delivery = Delivery::parse(row)?;
        all.insert(delivery.event, delivery);
    }
    for update in updates {
        match all.get_mut(&update.event) {
            Some(delivery) => delivery.apply(update),
            None => drop(all.insert(update.event, Delivery::begin(webhook, update))),
        }
    }
    Ok(all.into_values().collect())
}

/// A page of deliveries.
pub(super) async fn page(pool: Pool, query: DeliveryQuery) -> Result<Vec<Delivery>, StoreError> {
    let (direction, comparison) = match query.order {
        SortDirection::Ascending => ("asc", ">"),
        SortDirection::Descending => ("desc", "<"),
    };
    let sql = format!(
        "select {} from webhook_deliveries
         where webhook = $1 and status = any($2::text[]) and type = any($3::text[])
             and ($4::text is null or event {comparison} $4)
         order by event {direction} limit $5::int8",
        Delivery::COLUMNS
    );
    let statuses = DeliveryStatus::ALL.into_iter().filter(|status| query.statuses.admits(*status));
    let statuses: Vec<&str> = statuses.map(DeliveryStatus::as_str).collect();
    let kinds = EventKind::ALL.into_iter().filter(|kind| query.kinds.admits(*kind));
    let kinds: Vec<&str> = kinds.map(EventKind::as_str).collect();
    let parameters: Parameters = vec![
        Box::new(query.webhook.to_string()),
        Box::new(statuses),
        Box::new(kinds),
        Box::new(query.after.map(|event| event.to_string())),
        Box::new(i64::try_from(query.limit).unwrap_or(i64::MAX)),
    ];
    pool.rows(sql, parameters).await?.iter().map(Delivery::parse).collect()
}

pub(super) async fn one(
    pool: Pool,
    webhook: WebhookId,
    event: EventId,
) -> Result<Option<Delivery>, StoreError> {
    let sql =
        format!("select {} from webhook_deliveries where webhook = $1 and event = $2", Delivery::COLUMNS);
    let rows = pool.rows(sql, vec![Box::new(webhook.to_string()), Box::new(event.to_string())]).await?;
    rows.first().map(Delivery::parse).transpose()
}
