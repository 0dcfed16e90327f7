//! The body that asks for a new key.

use petstore_domain::{AccountName, KeyLabel, Limit, Limits, Plan, Scopes, TextError};

use crate::base::settings::QuotaForm;
use crate::wire::error::ApiError;
use crate::wire::faults::FieldFault;
use crate::wire::fields::{Fields, integer, text};
use crate::wire::json::Node;

/// A key that a tester asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WantedKey {
    /// The account; none for a new one.
    pub(crate) account: Option<AccountName>,
    /// The plan; none for that of the account.
    pub(crate) plan: Option<Plan>,
    pub(crate) label: Option<KeyLabel>,
    pub(crate) scopes: Scopes,
    /// The form of the quota headers of the key; none for that of all clients.
    pub(crate) quota_headers: Option<QuotaForm>,
}

/// `POST /sandbox/keys`.
pub(crate) fn new_key(body: &[u8]) -> Result<WantedKey, ApiError> {
    let mut fields = Fields::of(body)?;
    let account = fields.optional("account", |node| named(node, AccountName::parse));
    let name = fields.optional("plan", |node| Ok(text(node)?.to_owned()));
    let minute = fields.optional("minute", limit);
    let day = fields.optional("day", limit);
    let label = fields.optional("label", |node| named(node, KeyLabel::parse));
    let scopes = fields.optional("scopes", scopes).unwrap_or(Scopes::ALL);
    let quota_headers = fields.optional("quotaHeaders", super::quota_form);
    let plan = plan(&mut fields, name.as_deref(), minute, day);
    fields.finish(|| Some(WantedKey { account, plan, label, scopes, quota_headers }))
}

/// Returns the plan of this name. The enterprise plan, and no other, has limits of the account.
fn plan(
    fields: &mut Fields<'_>,
    name: Option<&str>,
    minute: Option<Limit>,
    day: Option<Limit>,
) -> Option<Plan> {
    let found = match name {
        Some("enterprise") => {
            let (Some(minute), Some(day)) = (minute, day) else {
                if fields.is_sound() {
                    fields.refuse(
                        "plan",
                        &FieldFault::new("conflict", "must come with minute and day if it is enterprise"),
                    );
                }
                return None;
            };
            if day < minute {
                fields.refuse("day", &FieldFault::new("out_of_range", "must not be less than minute"));
            }
            return Some(Plan::Enterprise(Limits { minute, day }));
        }
        Some("free") => Some(Plan::Free),
        Some("pro") => Some(Plan::Pro),
        Some("business") => Some(Plan::Business),
        Some(_) => {
            let rule = "must be one of free, pro, business, enterprise";
            fields.refuse("plan", &FieldFault::new("unknown_value", rule));
            None
        }
        None => None,
    };
    for (name, limit) in [("minute", minute), ("day", day)] {
        if limit.is_some() {
            fields.refuse(name, &FieldFault::new("conflict", "is allowed only with the plan enterprise"));
        }
    }
    found
}

fn named<T>(node: &Node<'_>, parse: fn(&str) -> Result<T, TextError>) -> Result<T, FieldFault> {
    Ok(parse(text(node)?)?)
}

fn limit(node: &Node<'_>) -> Result<Limit, FieldFault> {
    let number = integer(node)?;
    let found = u32::try_from(number).ok().and_then(Limit::new);
    found.ok_or_else(|| FieldFault::new("out_of_range", format!("must be between 1 and {}", Limit::MAX)))
}

fn scopes(node: &Node<'_>) -> Result<Scopes, FieldFault> {
    let rule = "must be a list of read, write and webhooks, such as read,write";
    Scopes::parse(text(node)?).ok_or_else(|| FieldFault::new("unknown_value", rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_needs_nothing_and_may_have_an_account_a_plan_and_scopes() {
        let least = new_key(b"{}").unwrap();
        let expected =
            WantedKey { account: None, plan: None, label: None, scopes: Scopes::ALL, quota_headers: None };
        assert_eq!(least, expected);
        let most =
            br#"{"account":"acme","plan":"enterprise","minute":5,"day":9,"label":"ci","scopes":"read"}"#;
        let most = new_key(most).unwrap();
        let limits = Limits { minute: Limit::new(5).unwrap(), day: Limit::new(9).unwrap() };
        assert_eq!((most.plan, most.scopes.as_str()), (Some(Plan::Enterprise(limits)), "read"));
        assert_eq!(most.account.map(|name| name.to_string()), Some("acme".to_owned()));
    }

    #[test]
    fn each_fault_is_reported_with_its_member() {
        for (body, field) in [
            (&br#"{"plan":"gold"}"#[..], "plan"),
            (br#"{"plan":"enterprise","minute":5}"#, "plan"),
            (br#"{"plan":"enterprise","minute":5,"day":4}"#, "day"),
            (br#"{"plan":"free","minute":5}"#, "minute"),
            (br#"{"minute":0}"#, "minute"),
            (br#"{"scopes":"admin"}"#, "scopes"),
            (br#"{"account":" "}"#, "account"),
            (br#"{"label":7}"#, "label"),
            (br#"{"quotaHeaders":"draft-8"}"#, "quotaHeaders"),
            (br#"{"expires":"1d"}"#, "expires"),
        ] {
            let error = new_key(body).unwrap_err();
            let fields: Vec<_> = error.details.iter().map(|detail| detail.field.as_str()).collect();
            assert_eq!(fields, [field], "{}", String::from_utf8_lossy(body));
        }
    }
}
