//! Keys and accounts as tables.

use clap::builder::styling::{AnsiColor, Style};

use crate::admin::{AccountView, KeyView};
use crate::table::Table;

/// Keys as a table, with colours for their states.
pub(super) fn keys_table(keys: &[KeyView]) -> Table<8> {
    let mut table =
        Table::new(["ID", "KEY", "ACCOUNT", "PLAN", "SCOPES", "STATE", "UNTIL", "LABEL"]).painted(paint);
    for key in keys {
        let until = key.banned_until.as_ref().or(key.revoked_at.as_ref()).or(key.expires_at.as_ref());
        table.row([
            key.id.to_string(),
            format!("{}...", key.prefix),
            key.account.clone(),
            key.plan.clone(),
            key.scopes.join(","),
            key.state.clone(),
            until.cloned().unwrap_or_default(),
            key.label.clone(),
        ]);
    }
    table
}

/// Accounts as a table, with the limits of their plans.
pub(super) fn accounts_table(accounts: &[AccountView]) -> Table<6> {
    let mut table = Table::new(["ID", "NAME", "PLAN", "MINUTE", "DAY", "SINCE"]);
    let number = |number: Option<u32>| number.map(|number| number.to_string()).unwrap_or_default();
    for account in accounts {
        table.row([
            account.id.to_string(),
            account.name.clone(),
            account.plan.clone(),
            number(account.minute),
            number(account.day),
            account.created_at.clone(),
        ]);
    }
    table
}

/// The column of a key's state.
const STATE: usize = 5;

fn paint(column: usize, state: &str) -> Style {
    let colour = match state {
        _ if column != STATE => return Style::new(),
        "active" => AnsiColor::Green,
        "banned" => AnsiColor::Yellow,
        // The other states are `expired` and `revoked`.
        _ => AnsiColor::Red,
    };
    colour.on_default()
}
