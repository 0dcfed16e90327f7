//! Queries of the journal of a sandbox.

use std::time::Duration;

use hyper::Method;
use petstore_client_report::Rule;
use petstore_domain::{ApiKey, KeyPrefix};
use petstore_request_journal::{RecordFilter, StatusFilter};

use super::scope::header_text;
use crate::wire::error::ApiError;
use crate::wire::faults::FieldFault;
use crate::wire::query::{Parameters, number, wait};

/// The largest number of records of an answer, and of records that a client may wait for.
const RECORDS_MAX: usize = 1_000;

/// The records that a client asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordQuery {
    pub(crate) filter: RecordFilter,
    /// The largest number of records.
    pub(crate) limit: usize,
    /// The number of matching records that the client waits for.
    pub(crate) count: usize,
    /// The longest time of the wait.
    pub(crate) wait: Duration,
}

/// The form in which a client asks for one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordForm {
    Json,
    Curl,
}

/// `GET /sandbox/requests` and `GET /sandbox/requests.har`. `routes` are the paths that the query may name.
pub(crate) fn sandbox_requests(query: Option<&str>, routes: &[&str]) -> Result<RecordQuery, ApiError> {
    let mut parameters = Parameters::of(query);
    let text = |text: &str| Ok(text.to_owned());
    let filter = RecordFilter {
        methods: parameters.many("method", method).unwrap_or_default(),
        route: parameters.one("route", |text| {
            let rule = "must be a path as written in the contract, such as /pets/{petId}";
            let is_known = routes.contains(&text);
            is_known.then(|| text.to_owned()).ok_or_else(|| FieldFault::new("unknown_value", rule))
        }),
        statuses: parameters.many("status", status).unwrap_or_default(),
        key: parameters.one("key", key),
        header: parameters.one("header", header_text),
        target: parameters.one("target", text),
        hint: parameters.one("hint", |text| match Rule::named(text) {
            Some(rule) => Ok(rule.name.to_owned()),
            None => Err(FieldFault::new("unknown_value", "must be the name of a rule of the client report")),
        }),
        after: parameters.one("after", sequence),
    };
    let limit = parameters.one("limit", records).unwrap_or(RECORDS_MAX);
    let count = parameters.one("count", records).unwrap_or(1);
    let wait = parameters.one("wait", wait).unwrap_or_default();
    parameters.finish()?;
    Ok(RecordQuery { filter, limit, count, wait })
}

/// `GET /sandbox/requests/{id}`: the form, and the number of the record if several have the same id.
pub(crate) fn sandbox_request(query: Option<&str>) -> Result<(RecordForm, Option<u64>), ApiError> {
    let mut parameters = Parameters::of(query);
    let form = parameters.one("as", |text| match text {
        "json" => Ok(RecordForm::Json),
        "curl" => Ok(RecordForm::Curl),
        _ => Err(FieldFault::new("unknown_value", "must be json or curl")),
    });
    let sequence = parameters.one("sequence", sequence);
    parameters.finish()?;
    Ok((form.unwrap_or(RecordForm::Json), sequence))
}

/// `POST /sandbox/reset`: returns `true` if the journal is kept.
pub(crate) fn keeps_journal(query: Option<&str>) -> Result<bool, ApiError> {
    let mut parameters = Parameters::of(query);
    let keeps = parameters.one("journal", |text| match text {
        "keep" => Ok(true),
        "clear" => Ok(false),
        _ => Err(FieldFault::new("unknown_value", "must be keep or clear")),
    });
    parameters.finish()?;
    Ok(keeps.unwrap_or(false))
}

/// A method of the contract, or any other method that a client may have sent.
fn method(text: &str) -> Result<String, FieldFault> {
    let rule = "must be a method such as GET";
    let method = Method::from_bytes(text.as_bytes());
    method.map(|_| text.to_owned()).map_err(|_| FieldFault::new("invalid_format", rule))
}

/// The prefix of a key, or a whole key.
fn key(text: &str) -> Result<KeyPrefix, FieldFault> {
    let rule = "must be an API key, or its prefix: pet_ and eight characters";
    let prefix =
        KeyPrefix::parse(text).ok().or_else(|| Some(ApiKey::parse(text.as_bytes()).ok()?.display_prefix()));
    prefix.ok_or_else(|| FieldFault::new("invalid_format", rule))
}

fn status(text: &str) -> Result<StatusFilter, FieldFault> {
    let rule = "must be a status such as 404, or a class such as 4xx";
    StatusFilter::parse(text).ok_or_else(|| FieldFault::new("invalid_format", rule))
}

fn sequence(text: &str) -> Result<u64, FieldFault> {
    let sequence = number(text)?.and_then(|sequence| u64::try_from(sequence).ok());
    sequence.ok_or_else(|| FieldFault::new("out_of_range", "must be the sequence number of a request"))
}

fn records(text: &str) -> Result<usize, FieldFault> {
    let count = number(text)?.filter(|count| (1..=RECORDS_MAX).contains(count));
    count.ok_or_else(|| FieldFault::new("out_of_range", "must be between 1 and 1000"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_is_read_and_every_fault_is_named() {
        let query = "method=GET,POST&method=PUT&route=/pets&status=4xx,503&key=pet_12345678&header=X-Test-Id:a%3Ab&target=%2Fa&hint=waits&after=7\
                     &limit=2&count=3&wait=30";
        let read = sandbox_requests(Some(query), &["/pets"]).unwrap();
        let filter = RecordFilter {
            methods: ["GET", "POST", "PUT"].map(str::to_owned).into(),
            route: Some("/pets".to_owned()),
            statuses: vec![StatusFilter::Class(4), StatusFilter::One(503)],
            key: KeyPrefix::parse("pet_12345678").ok(),
            header: Some(("x-test-id".to_owned(), "a:b".to_owned())),
            target: Some("/a".to_owned()),
            hint: Some("waits".to_owned()),
            after: Some(7),
        };
        assert_eq!(read, RecordQuery { filter, limit: 2, count: 3, wait: Duration::from_secs(30) });
        let whole = ApiKey::from_entropy([7; 32]);
        let read = sandbox_requests(Some(&format!("key={}", whole.reveal())), &[]).unwrap();
        assert_eq!(read.filter.key, Some(whole.display_prefix()));
        let query = "method=GET,&route=/pet&status=6xx&key=x&after=-1&limit=0&count=1001&wait=31&x=1";
        let error = sandbox_requests(Some(query), &["/pets"]).unwrap_err();
        let named: Vec<_> = error.details.iter().map(|detail| &*detail.field).collect();
        assert_eq!(named, ["method", "route", "status", "key", "after", "limit", "count", "wait", "x"]);
        assert_eq!(sandbox_request(Some("as=curl&sequence=3")), Ok((RecordForm::Curl, Some(3))));
        assert!(sandbox_request(Some("as=wget")).is_err());
        assert_eq!((keeps_journal(None), keeps_journal(Some("journal=keep"))), (Ok(false), Ok(true)));
        assert!(keeps_journal(Some("journal=")).is_err());
    }
}
