//! Log lines about webhooks.

use std::sync::Arc;

use petstore_ports::Signer as _;
use petstore_service::{DispatchNotice, DispatchStats};
use petstore_webhooks::HmacSigner;

use super::super::housekeeping::HOUSEKEEPING;
use crate::log::Log;
use crate::plural::counted;

/// Logs what an operator should know about the deliveries.
pub(super) async fn watch(stats: Arc<DispatchStats>, signer: Arc<HmacSigner>, log: Arc<Log>) {
    let mut without_key = 0;
    let mut ticks = tokio::time::interval(HOUSEKEEPING);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        for notice in stats.take_notices() {
            log.warn(&text(notice));
        }
        let count = stats.webhooks().without_key;
        if (count > 0) != (without_key > 0) {
            if count > 0 {
                log.error(&missing_key(count, signer.master().is_some()));
            } else {
                log.info("no webhook lacks its master key any more");
            }
        }
        without_key = count;
    }
}

fn text(notice: DispatchNotice) -> String {
    match notice {
        DispatchNotice::Disabled { account, webhook, reason } => {
            format!("webhook {webhook} of account {} was disabled: {reason}", account.get())
        }
        DispatchNotice::Refused { webhook } => format!(
            "webhook {webhook}: its host has an address that is not public, or is one of this server; webhook-allow permits \
             further ones"
        ),
        DispatchNotice::Unreadable { webhook } => format!(
            "webhook {webhook} gets no events: the event log is damaged where its next events are; `petstore webhooks show` has \
             the place, and its account can begin after it with POST /webhooks/{webhook}/replay"
        ),
        DispatchNotice::Waiting { account, attempts } => format!(
            "webhooks of account {} wait: {attempts} of its attempts are in flight, which is its share of the places while other \
             accounts wait; its receivers answer late or not at all",
            account.get()
        ),
    }
}

fn missing_key(count: usize, has_key: bool) -> String {
    let why = if has_key { "another master key" } else { "a master key that is missing" };
    format!(
        "no events for {}, whose secrets are derived from {why}: restore the file with the key, and reload; if it is lost, \
         run `petstore webhooks rekey`",
        counted(count as u64, "webhook")
    )
}
