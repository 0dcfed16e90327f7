//! The leases of webhooks. Their times are those of the database, so the clocks of the nodes do not matter.

use petstore_domain::{Progress, WebhookId};
use petstore_ports::{ClaimedWebhook, DELIVERY_LEASE, DeliveryLease, StoreError};
use tokio_postgres::Row;

use crate::queries::{Parameters, Pool};
use crate::records::Fields;

/// Claims webhooks whose lease has ended. The number rises, unless this handle holds the lease already: then the statement
/// was repeated after its answer was lost. Rows are locked in the order of their ids.
const CLAIM: &str = "insert into webhook_leases as lease (webhook, node, number, until)
    select webhook, $2::int8, 1, clock_timestamp() + $3::float8 * interval '1 second'
    from unnest($1::text[]) as wanted (webhook) order by webhook
    on conflict (webhook) do update set
        number = lease.number + case when lease.node = $2 and lease.until > clock_timestamp() then 0 else 1 end,
        node = excluded.node, until = excluded.until
    where lease.until <= clock_timestamp() or lease.node = $2
    returning webhook, number, progress::text";

/// Renews the leases of this handle that no other one has claimed, even if they have ended.
const RENEW: &str = "with held as materialized (
        select lease.webhook from webhook_leases as lease
        join unnest($1::text[], $2::int8[]) as asked (webhook, number) using (webhook, number)
        where node = $3 order by lease.webhook for no key update of lease
    )
    update webhook_leases as lease set until = clock_timestamp() + $4::float8 * interval '1 second'
    from held where lease.webhook = held.webhook
    returning lease.webhook, lease.number";

type Claim = (Vec<String>, Vec<i64>);

fn columns(leases: &[DeliveryLease]) -> Claim {
    let number = |lease: &DeliveryLease| i64::try_from(lease.number).unwrap_or(i64::MAX);
    (leases.iter().map(|lease| lease.webhook.to_string()).collect(), leases.iter().map(number).collect())
}

#[expect(clippy::cast_precision_loss, reason = "a lease takes some seconds")]
fn seconds() -> f64 {
    DELIVERY_LEASE.as_secs() as f64
}

pub(super) async fn claim(
    pool: Pool,
    node: i64,
    webhooks: Vec<WebhookId>,
) -> Result<Vec<ClaimedWebhook>, StoreError> {
    let ids: Vec<String> = webhooks.iter().map(ToString::to_string).collect();
    let parameters: Parameters = vec![Box::new(ids), Box::new(node), Box::new(seconds())];
    let rows = pool.rows(CLAIM.to_owned(), parameters).await?;
    rows.iter()
        .map(|row| {
            let mut fields = Fields::of("webhook_leases", row);
            Ok(ClaimedWebhook { lease: lease(&mut fields)?, progress: parsed(&mut fields)? })
        })
        .collect()
}

pub(super) async fn renew(
    pool: Pool,
    node: i64,
    held: Vec<DeliveryLease>,
) -> Result<Vec<DeliveryLease>, StoreError> {
    let rows = set_until(pool, node, &held, seconds()).await?;
    rows.iter().map(|row| lease(&mut Fields::of("webhook_leases", row))).collect()
}

pub(super) async fn release(pool: Pool, node: i64, held: Vec<DeliveryLease>) -> Result<(), StoreError> {
    set_until(pool, node, &held, 0.0).await.map(drop)
}

async fn set_until(
    pool: Pool,
    node: i64,
    held: &[DeliveryLease],
    seconds: f64,
) -> Result<Vec<Row>, StoreError> {
    if held.is_empty() {
        return Ok(Vec::new());
    }
    let (ids, numbers) = columns(held);
    let parameters: Parameters = vec![Box::new(ids), Box::new(numbers), Box::new(node), Box::new(seconds)];
    pool.rows(RENEW.to_owned(), parameters).await
}

pub(super) async fn progress(pool: Pool, webhook: WebhookId) -> Result<Option<Progress>, StoreError> {
    let sql = "select progress::text from webhook_leases where webhook = $1";
    let rows = pool.rows(sql.to_owned(), vec![Box::new(webhook.to_string())]).await?;
    rows.first().map_or(Ok(None), |row| parsed(&mut Fields::of("webhook_leases", row)))
}

fn lease(fields: &mut Fields<'_>) -> Result<DeliveryLease, StoreError> {
    Ok(DeliveryLease { webhook: fields.parsed(WebhookId::parse)?, number: fields.number(Ok::<_, &str>)? })
}

fn parsed(fields: &mut Fields<'_>) -> Result<Option<Progress>, StoreError> {
    fields.parsed(|text: Option<&str>| text.map(petstore_outcome_json::parse_progress).transpose())
}
