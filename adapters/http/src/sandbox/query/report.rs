//! The query of the client report of a sandbox.

use super::scope::header_text;
use crate::wire::error::ApiError;
use crate::wire::faults::FieldFault;
use crate::wire::query::{Parameters, number};

/// The largest number of identical attempts that may fail in a row.
const ATTEMPTS_MAX: u64 = 1_000;

/// The report that a tester asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReportQuery {
    /// The beginning of the key of the clients.
    pub(crate) key: Option<String>,
    /// The name and the value of a header of the requests that are judged.
    pub(crate) header: Option<(String, String)>,
    /// The number of identical attempts that may fail in a row.
    pub(crate) attempts: Option<u32>,
}

/// `GET /sandbox/report`.
pub(crate) fn client_report(query: Option<&str>) -> Result<ReportQuery, ApiError> {
    let mut parameters = Parameters::of(query);
    let key = parameters.one("key", |text| {
        let is_of_key = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if text.is_empty() || !text.bytes().all(is_of_key) {
            return Err(FieldFault::new("invalid_format", "must be the beginning of an API key"));
        }
        Ok(text.to_owned())
    });
    let header = parameters.one("header", header_text);
    let attempts = parameters.one("attempts", |text| {
        let attempts = number(text)?.and_then(|attempts| u64::try_from(attempts).ok());
        let attempts = attempts.filter(|attempts| (1..=ATTEMPTS_MAX).contains(attempts));
        let attempts = attempts.and_then(|attempts| u32::try_from(attempts).ok());
        attempts.ok_or_else(|| FieldFault::new("out_of_range", "must be between 1 and 1000"))
    });
    parameters.finish()?;
    Ok(ReportQuery { key, header, attempts })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_a_key_and_a_number_of_attempts() {
        for (query, key, attempts) in [
            (None, None, None),
            (Some("key=pet_4fW1"), Some("pet_4fW1"), None),
            (Some("attempts=3&key=pet_"), Some("pet_"), Some(3)),
        ] {
            let expected = ReportQuery { key: key.map(str::to_owned), header: None, attempts };
            assert_eq!(client_report(query).ok(), Some(expected), "{query:?}");
        }
        for wrong in
            ["key=", "key=pet%20", "attempts=0", "attempts=1001", "attempts=x", "attempt=1", "key=a&key=b"]
        {
            assert!(client_report(Some(wrong)).is_err(), "{wrong}");
        }
    }
}
