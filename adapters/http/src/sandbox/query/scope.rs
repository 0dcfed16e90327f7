//! Conditions by key and header, in queries.

use hyper::header::HeaderName;

use super::super::fault_plan::RuleFilter;
use super::super::fault_rules::header_name;
use super::super::rule_scope::{scope_key, scope_value};
use crate::wire::error::ApiError;
use crate::wire::faults::FieldFault;
use crate::wire::query::Parameters;

/// `DELETE /sandbox/faults`: the rules that are removed; `None` for all.
pub(crate) fn rule_filter(query: Option<&str>) -> Result<Option<RuleFilter>, ApiError> {
    let mut parameters = Parameters::of(query);
    let key = parameters.one("key", scope_key);
    let header = parameters.one("header", |text| {
        if key.is_some() {
            return Err(FieldFault::new("not_allowed", "cannot be combined with key"));
        }
        header(text)
    });
    parameters.finish()?;
    Ok(header.map(|(name, value)| RuleFilter::Header(name, value)).or(key.map(RuleFilter::Key)))
}

/// Parses a header and its value, with a colon between them.
pub(super) fn header(text: &str) -> Result<(HeaderName, Box<str>), FieldFault> {
    let rule = "must be a header and its value, such as x-test-id:orders.create";
    let (name, value) = text.split_once(':').ok_or_else(|| FieldFault::new("invalid_format", rule))?;
    Ok((header_name(name.trim())?, scope_value(value.trim())?))
}

/// Parses a header and its value like [`header`], as texts.
pub(super) fn header_text(text: &str) -> Result<(String, String), FieldFault> {
    let (name, value) = header(text)?;
    Ok((name.as_str().to_owned(), value.into()))
}

/// `GET /sandbox/requests/stream`: the header of the requests that are sent; `None` for all requests.
pub(crate) fn stream_header(query: Option<&str>) -> Result<Option<(String, String)>, ApiError> {
    let mut parameters = Parameters::of(query);
    let header = parameters.one("header", header_text);
    parameters.finish()?;
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_named_by_key_or_header() {
        let name = HeaderName::from_static("x-test-id");
        assert_eq!(rule_filter(None), Ok(None));
        assert_eq!(rule_filter(Some("key=pet_4f")), Ok(Some(RuleFilter::Key("pet_4f".into()))));
        let named = RuleFilter::Header(name, "a:b".into());
        assert_eq!(rule_filter(Some("header=X-Test-Id:a%3Ab")), Ok(Some(named)));
        for wrong in
            ["key=", "header=x", "header=a%20b:c", "header=a:", "key=a&header=b:c", "id=1", "key=a&key=b"]
        {
            assert!(rule_filter(Some(wrong)).is_err(), "{wrong}");
        }
    }
}
