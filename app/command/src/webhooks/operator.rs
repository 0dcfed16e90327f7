//! `petstore webhooks list`, `show`, `disable`, `enable` and `rekey`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::styling::{AnsiColor, Style};
use petstore_domain::WebhookId;

use crate::admin::{AdminAnswer, AdminRequest, WebhookView, WebhooksRequest};
use crate::failure::Failure;
use crate::keys::{StoreTarget, print_json, unexpected};
use crate::plural::counted;
use crate::table::{Table, show};
use crate::terminal::notify;

/// The server or the data whose webhooks are meant.
#[derive(Debug, Args)]
pub(crate) struct TargetArgs {
    #[command(flatten)]
    target: StoreTarget,
}

/// A webhook, and its server or its data.
#[derive(Debug, Args)]
pub(crate) struct WebhookArgs {
    /// Its id
    #[arg(value_parser = id, value_name = "WEBHOOK")]
    webhook: String,
    #[command(flatten)]
    target: StoreTarget,
}

impl TargetArgs {
    pub(super) fn list(self, config: Option<PathBuf>) -> Result<(), Failure> {
        let target = self.target.with_config(config);
        let all = all(&target)?;
        if target.json { print_json(&all) } else { show(&webhooks_table(&all)) }
    }

    /// Gives new secrets to webhooks whose secrets are derived from another master key.
    pub(super) fn rekey(self, config: Option<PathBuf>) -> Result<(), Failure> {
        let target = self.target.with_config(config);
        let mut all: Vec<WebhookView> = Vec::new();
        loop {
            let (webhooks, more) = page(&target, WebhooksRequest::Rekey)?;
            all.extend(webhooks);
            if !more {
                break;
            }
        }
        if target.json {
            return print_json(&all);
        }
        if !all.is_empty() {
            show(&webhooks_table(&all))?;
            notify(
                "receivers refuse the new signatures until they have the new secrets: ask the owners to rotate (POST \
                 /webhooks/{webhookId}/rotate), whose answer has the secret",
            );
        }
        notify(&format!("{} with new secrets", counted(all.len() as u64, "webhook")));
        Ok(())
    }
}

impl WebhookArgs {
    pub(super) fn show(self, config: Option<PathBuf>) -> Result<(), Failure> {
        let request = WebhooksRequest::Show { webhook: self.webhook };
        one(&self.target.with_config(config), request)
    }

    pub(super) fn set_enabled(self, is_enabled: bool, config: Option<PathBuf>) -> Result<(), Failure> {
        let request = WebhooksRequest::SetEnabled { webhook: self.webhook, is_enabled };
        one(&self.target.with_config(config), request)
    }
}

/// Returns the webhooks of all accounts.
pub(super) fn all(target: &StoreTarget) -> Result<Vec<WebhookView>, Failure> {
    let mut all: Vec<WebhookView> = Vec::new();
    loop {
        let after = all.last().map(|webhook| webhook.id.clone());
        let (webhooks, more) = page(target, WebhooksRequest::List { after })?;
        all.extend(webhooks);
        if !more {
            return Ok(all);
        }
    }
}

fn page(target: &StoreTarget, request: WebhooksRequest) -> Result<(Vec<WebhookView>, bool), Failure> {
    match target.ask(AdminRequest::Webhooks { request })? {
        AdminAnswer::Webhooks { webhooks, more } => Ok((webhooks, more)),
        _ => Err(unexpected()),
    }
}

fn one(target: &StoreTarget, request: WebhooksRequest) -> Result<(), Failure> {
    match target.ask(AdminRequest::Webhooks { request })? {
        AdminAnswer::Webhook { webhook } if target.json => print_json(&webhook),
        AdminAnswer::Webhook { webhook } => show(&webhooks_table(&[webhook])),
        _ => Err(unexpected()),
    }
}

/// Returns an id as it was given, so that an error names that one.
fn id(text: &str) -> Result<String, String> {
    match WebhookId::parse_clamped(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err("expected an id of a webhook: whk_ and 22 letters or digits".to_owned()),
    }
}

fn webhooks_table(webhooks: &[WebhookView]) -> Table<7> {
    let headings = ["ID", "ACCOUNT", "STATUS", "REASON", "LAG", "LAST SUCCESS", "URL"];
    let mut table = Table::new(headings).painted(paint);
    for webhook in webhooks {
        table.row([
            webhook.id.clone(),
            webhook.account.clone(),
            webhook.status.clone(),
            webhook.disabled_reason.as_ref().or(webhook.failing_reason.as_ref()).cloned().unwrap_or_default(),
            webhook.lag.to_string(),
            webhook.last_success_at.clone().unwrap_or_default(),
            webhook.url.clone(),
        ]);
    }
    table
}

/// The column of the status.
const STATUS: usize = 2;

fn paint(column: usize, status: &str) -> Style {
    let colour = match status {
        _ if column != STATUS => return Style::new(),
        "active" => AnsiColor::Green,
        "failing" | "withheld" => AnsiColor::Yellow,
        // The other status is `disabled`.
        _ => AnsiColor::Red,
    };
    colour.on_default()
}
