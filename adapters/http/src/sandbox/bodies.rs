//! The request bodies of the sandbox.

mod new_key;

use std::time::Duration;

use petstore_ports::api::{ClockChange, NewTime};

use super::clock_hold::HoldChange;
use super::rule_scope::scope_key;
use crate::base::settings::QuotaForm;
use crate::wire::bodies::date;
use crate::wire::error::ApiError;
use crate::wire::faults::{FieldFault, listed};
use crate::wire::fields::{Fields, boolean, integer, text};
use crate::wire::json::Node;

pub(crate) use new_key::{WantedKey, new_key};

/// The maximum number of bytes of a body. A full plan has about 20 KiB, and a webhook at most 20 kB.
pub(super) const BODY_MAX: usize = 64 * 1024;

/// The largest integer that every JSON client represents exactly.
pub(super) const EXACT_MAX: u64 = (1 << 53) - 1;

/// The clock as a tester wants it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WantedClock {
    pub(crate) change: ClockChange,
    pub(crate) hold: HoldChange,
}

/// `POST /sandbox/clock`.
pub(crate) fn wanted_clock(body: &[u8]) -> Result<WantedClock, ApiError> {
    let mut fields = Fields::of(body)?;
    let set = fields.optional("set", date);
    let advance = fields.optional("advance", |node| duration(node, Duration::MAX));
    let freeze = fields.optional("freeze", boolean);
    let freeze_for = fields.optional("freezeFor", |node| scope_key(text(node)?));
    if set.is_some() && advance.is_some() {
        fields.refuse("advance", &FieldFault::new("conflict", "cannot be combined with set"));
    }
    let time = set.map(NewTime::Set).or(advance.map(NewTime::Advance));
    if freeze_for.is_some() && freeze == Some(false) {
        fields.refuse("freezeFor", &FieldFault::new("conflict", "cannot be combined with freeze false"));
    }
    if time.is_none() && freeze.is_none() && freeze_for.is_none() {
        fields.require_one("The body must have at least one of set, advance, freeze and freezeFor.");
    }
    let (freeze, hold) = match (freeze, freeze_for) {
        (_, Some(key)) => (Some(true), HoldChange::Begin(key)),
        (None, None) => (None, HoldChange::Keep),
        (freeze, None) => (freeze, HoldChange::End),
    };
    fields.finish(|| Some(WantedClock { change: ClockChange { time, freeze }, hold }))
}

pub(super) fn number(node: &Node<'_>, from: u64, to: u64) -> Result<u64, FieldFault> {
    let number = u64::try_from(integer(node)?).ok().filter(|number| (from..=to).contains(number));
    number.ok_or_else(|| FieldFault::new("out_of_range", format!("must be between {from} and {to}")))
}

pub(super) fn duration(node: &Node<'_>, most: Duration) -> Result<Duration, FieldFault> {
    let time = humantime::parse_duration(text(node)?)
        .map_err(|_| FieldFault::new("invalid_format", "must be a duration such as 250ms, 90s or 36h"))?;
    if time > most {
        let most = humantime::format_duration(most);
        return Err(FieldFault::new("out_of_range", format!("must be at most {most}")));
    }
    Ok(time)
}

/// Parses the name of a form of the quota headers.
pub(super) fn quota_form(node: &Node<'_>) -> Result<QuotaForm, FieldFault> {
    QuotaForm::parse(text(node)?).ok_or_else(|| {
        let names = listed(QuotaForm::ALL.map(QuotaForm::as_str));
        FieldFault::new("unknown_value", format!("must be one of {names}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::error::Code;

    fn faults<T>(parsed: Result<T, ApiError>) -> Vec<(String, &'static str)> {
        let Err(error) = parsed else { return vec![] };
        assert_eq!(error.code, Code::ValidationFailed);
        error.details.into_iter().map(|detail| (detail.field, detail.code)).collect()
    }

    #[test]
    fn a_clock_turn_sets_or_advances_or_freezes() {
        let time = petstore_domain::Timestamp::parse("2030-12-05T00:00:01Z").unwrap();
        let hours = Some(NewTime::Advance(Duration::from_hours(36)));
        let begin = HoldChange::Begin("pet_abcdefgh".into());
        let taken = [
            (r#"{"set":"2030-12-05T00:00:01Z"}"#, Some(NewTime::Set(time)), None, HoldChange::Keep),
            (r#"{"advance":"36h"}"#, hours, None, HoldChange::Keep),
            (r#"{"freeze":true}"#, None, Some(true), HoldChange::End),
            (
                r#"{"set":"2030-12-05T00:00:01Z","freeze":false}"#,
                Some(NewTime::Set(time)),
                Some(false),
                HoldChange::End,
            ),
            (r#"{"freezeFor":"pet_abcdefgh"}"#, None, Some(true), begin.clone()),
            (r#"{"freeze":true,"freezeFor":"pet_abcdefgh"}"#, None, Some(true), begin),
        ];
        for (body, time, freeze, hold) in taken {
            let wanted = WantedClock { change: ClockChange { time, freeze }, hold };
            assert_eq!(wanted_clock(body.as_bytes()), Ok(wanted), "{body}");
        }
        let refused = [
            ("{}", "", "required"),
            ("[]", "", "invalid_type"),
            (r#"{"set":"tomorrow"}"#, "set", "invalid_format"),
            (r#"{"advance":36}"#, "advance", "invalid_type"),
            (r#"{"advance":"-1h"}"#, "advance", "invalid_format"),
            (r#"{"set":"2030-12-05T00:00:01Z","advance":"1s"}"#, "advance", "conflict"),
            (r#"{"freeze":"yes"}"#, "freeze", "invalid_type"),
            (r#"{"freeze":true,"speed":2}"#, "speed", "unknown_member"),
            (r#"{"freezeFor":""}"#, "freezeFor", "too_short"),
            (r#"{"freeze":false,"freezeFor":"pet_a"}"#, "freezeFor", "conflict"),
        ];
        for (body, field, code) in refused {
            assert!(
                faults(wanted_clock(body.as_bytes())).contains(&(field.to_owned(), code)),
                "{body}: {:?}",
                faults(wanted_clock(body.as_bytes()))
            );
        }
    }
}
