//! A page of events as a server sends it, and the errors that a server sends instead.

use std::fmt;
use std::time::Duration;

use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderName, LINK, RETRY_AFTER};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::http_client::ApiAnswer;
use crate::terminal::visible_line;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// A page of events.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) events: Vec<ReceivedEvent>,
    /// The id of the last position that the server has read. The next page begins after this position.
    pub(crate) reached: Option<String>,
    /// Set if the server has more events to read now.
    pub(crate) has_more: bool,
}

/// An event as it was received.
#[derive(Debug)]
pub(crate) struct ReceivedEvent {
    /// The whole event, as the server wrote it.
    pub(crate) json: Box<RawValue>,
    pub(crate) fields: EventFields,
}

impl ReceivedEvent {
    pub(crate) fn parse(json: String) -> Option<Self> {
        Self::of(RawValue::from_string(json).ok()?)
    }

    fn of(json: Box<RawValue>) -> Option<Self> {
        let fields = serde_json::from_str(json.get()).ok()?;
        Some(Self { json, fields })
    }
}

/// The members of an event.
#[derive(Debug, Deserialize)]
pub(crate) struct EventFields {
    pub(crate) id: String,
    pub(crate) sequence: u64,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) timestamp: String,
    pub(crate) data: Members,
    pub(crate) previous: Option<Members>,
}

/// The members of an object in the order in which they were received.
#[derive(Debug, Default)]
pub(crate) struct Members(pub(crate) Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Members::default();
                while let Some(member) = map.next_entry()? {
                    members.0.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// An answer that is no page.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The request may succeed later. If the server named a time, it is in `after`.
    Later { why: String, after: Option<Duration> },
    /// The log does not have the event after which the page should begin.
    Expired { why: String },
    /// Another attempt would be refused in the same way.
    Final { why: String },
}

/// The maximum number of characters of an error that are shown, as many as the contract allows.
const TEXT_MAX: usize = 1_000;

/// The members of an error that a person reads.
#[derive(Debug, Deserialize)]
struct ErrorBody {
    message: String,
}

impl ErrorBody {
    /// Returns the message as one line. A process that imitates the server cannot add lines to the output, and a long
    /// text does not fill the terminal.
    fn text(self) -> String {
        let text = self.message;
        match text.char_indices().nth(TEXT_MAX) {
            Some((end, _)) => visible_line(&text[..end]).into_owned() + "…",
            None => visible_line(&text).into_owned(),
        }
    }
}

pub(super) fn read(answer: &ApiAnswer) -> Result<Page, Refusal> {
    let ApiAnswer { status, headers, body } = answer;
    if *status == StatusCode::OK {
        return page(headers, body).ok_or_else(|| Refusal::Final {
            why: "the answer is not a list of events: check the base URL".to_owned(),
        });
    }
    let after = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let after = after.and_then(|secs| secs.parse().ok()).map(Duration::from_secs);
    let message = serde_json::from_slice(body).map(ErrorBody::text).ok();
    let said = message.unwrap_or_else(|| format!("the server answered {status}"));
    Err(match status.as_u16() {
        429 | 500 | 502..=504 => Refusal::Later { why: said, after },
        410 => Refusal::Expired { why: said },
        401 => Refusal::Final { why: format!("the server refuses the API key (401): {said}") },
        403 => {
            Refusal::Final { why: format!("the server refuses the API key (403): {said}{}", in_secs(after)) }
        }
        404 => Refusal::Final {
            why: format!("{said} (404): check the base URL, which ends with the base path, such as /v1"),
        },
        300..=399 => Refusal::Final {
            why: format!("the server redirects the request ({status}): name the URL that it redirects to"),
        },
        _ => Refusal::Final { why: format!("{said} ({})", status.as_u16()) },
    })
}

fn in_secs(after: Option<Duration>) -> String {
    after.map(|after| format!(" Try again in {} s.", after.as_secs())).unwrap_or_default()
}

fn page(headers: &HeaderMap, body: &[u8]) -> Option<Page> {
    let events: Vec<Box<RawValue>> = serde_json::from_slice(body).ok()?;
    let events = events.into_iter().map(ReceivedEvent::of).collect::<Option<Vec<_>>>()?;
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    // Some gateways remove headers that they do not know.
    let reached = text(&LAST_EVENT_ID).map(str::to_owned);
    let reached = reached.or_else(|| events.last().map(|event| event.fields.id.clone()));
    let has_more = text(&LINK).is_some_and(|links| links.contains("rel=\"next\""));
    Some(Page { events, reached, has_more })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, headers: &[(&'static str, &'static str)], body: &'static str) -> ApiAnswer {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().expect("a value")));
        let status = StatusCode::from_u16(status).expect("a status");
        ApiAnswer { status, headers: headers.collect(), body: body.into() }
    }

    const EVENT: &str = r#"[{"id":"evt_1","sequence":7,"type":"pet.created","timestamp":"2030-01-01T00:00:00.000Z",
        "data":{"name":"Z","id":1},"new":true}]"#;

    #[test]
    fn a_page_has_events_in_their_own_text_and_the_place_to_continue() {
        let link = [("last-event-id", "evt_9"), ("link", "</a>; rel=\"first\", </b>; rel=\"next\"")];
        let page = read(&answer(200, &link, EVENT)).unwrap();
        assert_eq!((page.reached.as_deref(), page.has_more), (Some("evt_9"), true));
        let event = &page.events[0];
        assert!(event.json.get().ends_with("\"new\":true}"), "{event:?}");
        let names: Vec<_> = event.fields.data.0.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["name", "id"], "as received");

        let page = read(&answer(200, &[], EVENT)).unwrap();
        assert_eq!((page.reached.as_deref(), page.has_more), (Some("evt_1"), false), "of the last event");
        let page = read(&answer(200, &[], "[]")).unwrap();
        assert_eq!(page.reached, None);
    }

    #[test]
    fn a_refusal_is_final_unless_waiting_helps() {
        let later = |why: &str, after: Option<u64>| Refusal::Later {
            why: why.to_owned(),
            after: after.map(Duration::from_secs),
        };
        let body = r#"{"code":"x","message":"No.","status":1}"#;
        for status in [429, 500, 502, 503, 504] {
            let waits = read(&answer(status, &[("retry-after", "12")], body)).unwrap_err();
            assert_eq!(waits, later("No.", Some(12)), "{status}");
        }
        assert_eq!(
            read(&answer(503, &[], "<p>")).unwrap_err(),
            later("the server answered 503 Service Unavailable", None)
        );
        let date = [("retry-after", "Fri, 31 Dec 2030 23:59:59 GMT")];
        assert_eq!(read(&answer(429, &date, body)).unwrap_err(), later("No.", None));
        assert_eq!(read(&answer(410, &[], body)).unwrap_err(), Refusal::Expired { why: "No.".to_owned() });
        for status in [204, 301, 400, 401, 403, 404, 406, 501] {
            let refusal = read(&answer(status, &[], body)).unwrap_err();
            assert!(
                matches!(&refusal, Refusal::Final { why } if why.contains(&status.to_string())),
                "{refusal:?}"
            );
        }
        let forged = r#"{"message":"No.\n12:00 all is well\u001b[2J \r\u202ex"}"#;
        let forged = read(&answer(503, &[], forged)).unwrap_err();
        assert_eq!(forged, later("No.\\u{a}12:00 all is well\\u{1b}[2J \\u{d}\\u{202e}x", None), "one line");
        let long = format!(r#"{{"message":"{}"}}"#, "é".repeat(70_000));
        let cut = read(&answer(503, &[], long.leak())).unwrap_err();
        assert_eq!(cut, later(&("é".repeat(1_000) + "…"), None));
        let ban = read(&answer(403, &[("retry-after", "120")], body)).unwrap_err();
        let Refusal::Final { why } = ban else { panic!("{ban:?}") };
        assert!(why.ends_with("Try again in 120 s."), "{why}");
    }

    #[test]
    fn a_body_that_is_no_list_of_events_is_refused() {
        for body in [
            "",
            "<html>",
            "{}",
            "[1]",
            "[{\"id\":\"evt_1\"}]",
            "[{}",
            r#"[{"id":"a","sequence":1,"type":"t","timestamp":"t","data":3}]"#,
        ] {
            let refusal = read(&answer(200, &[], body)).unwrap_err();
            assert!(matches!(refusal, Refusal::Final { .. }), "{body}: {refusal:?}");
        }
    }
}
