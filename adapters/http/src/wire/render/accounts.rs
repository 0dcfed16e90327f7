//! The JSON of accounts and keys, for a tester.

use petstore_domain::{Account, KeyFault, Timestamp, Usage};
use petstore_ports::api::KeyListing;

use super::{push_number, push_string, push_window};

/// An account with its windows and keys.
pub(crate) struct AccountView<'a> {
    pub(crate) account: &'a Account,
    pub(crate) usage: Usage,
    pub(crate) keys: &'a [KeyListing],
}

/// Renders the accounts. `is_complete` is false if further keys were left out.
pub(crate) fn render_accounts(accounts: &[AccountView<'_>], is_complete: bool, now: Timestamp) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(b"{\"now\":");
    push_string(&mut out, now.to_string().as_bytes());
    out.extend_from_slice(b",\"accounts\":[");
    for (place, AccountView { account, usage, keys }) in accounts.iter().enumerate() {
        out.extend_from_slice(if place == 0 { b"{\"id\":" } else { b",{\"id\":" });
        push_number(&mut out, account.id.get());
        push_member(&mut out, "name", account.name.as_str());
        push_member(&mut out, "plan", account.plan.as_str());
        out.extend_from_slice(b",\"minute\":");
        push_window(&mut out, &usage.minute);
        out.extend_from_slice(b",\"day\":");
        push_window(&mut out, &usage.day);
        out.extend_from_slice(b",\"keys\":[");
        for (place, listing) in keys.iter().enumerate() {
            if place > 0 {
                out.push(b',');
            }
            push_key(&mut out, listing, now);
        }
        out.extend_from_slice(b"]}");
    }
    out.extend_from_slice(if is_complete { b"],\"complete\":true}" } else { b"],\"complete\":false}" });
    out
}

/// Renders a new key with its secret.
pub(crate) fn render_new_key(secret: &str, listing: &KeyListing, now: Timestamp) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(b"{\"secret\":");
    push_string(&mut out, secret.as_bytes());
    push_member(&mut out, "account", listing.account.name.as_str());
    push_member(&mut out, "plan", listing.account.plan.as_str());
    out.extend_from_slice(b",\"key\":");
    push_key(&mut out, listing, now);
    out.push(b'}');
    out
}

fn push_key(out: &mut Vec<u8>, listing: &KeyListing, now: Timestamp) {
    let key = &listing.key;
    let ban = key.ban.as_ref().filter(|ban| ban.in_force(now));
    let state = match (key.check(now), ban) {
        (Err(KeyFault::Revoked), _) => "revoked",
        (Err(KeyFault::Expired), _) => "expired",
        (Ok(()), Some(_)) => "banned",
        (Ok(()), None) => "active",
    };
    out.extend_from_slice(b"{\"id\":");
    push_number(out, key.id.get());
    push_member(out, "prefix", &key.prefix.to_string());
    push_member(out, "label", key.label.as_str());
    push_member(out, "scopes", key.scopes.as_str());
    push_member(out, "state", state);
    push_member(out, "createdAt", &key.created_at.to_string());
    if let Some(time) = key.valid_until() {
        push_member(out, "expiresAt", &time.to_string());
    }
    if let Some(ban) = ban {
        push_member(out, "bannedUntil", &ban.until.to_string());
    }
    out.push(b'}');
}

fn push_member(out: &mut Vec<u8>, name: &str, value: &str) {
    out.push(b',');
    push_string(out, name.as_bytes());
    out.push(b':');
    push_string(out, value.as_bytes());
}
