//! The bodies of requests about webhooks.

use std::time::Duration;

use petstore_domain::{
    DeliveryOrder, EventId, EventKind, EventPatterns, EventPatternsError, NewWebhook, OVERLAP_MAX,
    RangeError, Target, TargetError, TargetRefusal, WebhookPatch, WebhookUrl,
};
use petstore_ports::api::LogPlace;

use super::description;
use crate::wire::error::ApiError;
use crate::wire::faults::FieldFault;
use crate::wire::fields::{Fields, boolean, integer, text};
use crate::wire::json::Node;

/// The members of a webhook that no request sets.
const READ_ONLY: [&str; 11] = [
    "id",
    "status",
    "disabledReason",
    "failingReason",
    "failingSince",
    "pausedUntil",
    "lastSuccessAt",
    "cursor",
    "lag",
    "secretExpiresAt",
    "createdAt",
];

/// The overlap of two secrets if a request names none.
const OVERLAP: Duration = Duration::from_hours(24);

/// The kind of a sample event if a request names none.
const SAMPLE: EventKind = EventKind::OrderPlaced;

/// Judges the receiver of a webhook.
pub(crate) type JudgeTarget<'j> = &'j dyn Fn(&Target) -> Result<(), TargetRefusal>;

/// `POST /webhooks`: the webhook, and the place in the log after which its deliveries begin.
pub(crate) fn new_webhook(body: &[u8], judge: JudgeTarget<'_>) -> Result<(NewWebhook, LogPlace), ApiError> {
    let mut fields = Fields::with_arrays(body)?;
    let url = fields.required("url", |node| url(node, judge));
    let types = types(&mut fields);
    let description = fields.optional("description", description);
    let is_enabled = fields.optional("enabled", boolean).unwrap_or(true);
    let ordering = fields.optional("ordering", ordering).unwrap_or_default();
    let from = fields.optional("from", log_place).unwrap_or_default();
    fields.read_only(&READ_ONLY);
    fields.read_only(&["secret"]);
    fields.finish(|| {
        let types = types.unwrap_or_else(EventPatterns::any);
        Some((NewWebhook { url: url?, types, description, ordering, is_enabled }, from))
    })
}

/// `PATCH /webhooks/{webhookId}`: the changes, and the place at which the deliveries of a webhook that becomes enabled go on.
pub(crate) fn webhook_patch(
    body: &[u8],
    judge: JudgeTarget<'_>,
) -> Result<(WebhookPatch, Option<LogPlace>), ApiError> {
    let mut fields = Fields::with_arrays(body)?;
    let url = fields.optional("url", |node| url(node, judge));
    let types = types(&mut fields);
    let description = fields.deletable("description", description);
    let is_enabled = fields.optional("enabled", boolean);
    let ordering = fields.optional("ordering", ordering);
    let from = fields.optional("from", |node| {
        let place = log_place(node)?;
        if is_enabled == Some(true) {
            return Ok(place);
        }
        Err(FieldFault::new(
            "not_allowed",
            "goes only with enabled: true; replayWebhook (POST /webhooks/{webhookId}/replay) moves an enabled webhook",
        ))
    });
    fields.read_only(&READ_ONLY);
    fields.read_only(&["secret"]);
    fields.finish(|| Some((WebhookPatch { url, types, description, ordering, is_enabled }, from)))
}

/// `POST /webhooks/{webhookId}/rotate`: the overlap of the two secrets.
pub(crate) fn rotation(body: &[u8]) -> Result<Duration, ApiError> {
    let mut fields = object(body)?;
    let overlap = fields.optional("overlap", |node| {
        let secs = u64::try_from(integer(node)?).ok().map(Duration::from_secs);
        let max = i64::try_from(OVERLAP_MAX.as_secs()).unwrap_or(i64::MAX);
        let out_of_range = || RangeError { min: 0, max, but_not_zero: false };
        Ok(secs.filter(|secs| *secs <= OVERLAP_MAX).ok_or_else(out_of_range)?)
    });
    fields.finish(|| Some(overlap.unwrap_or(OVERLAP)))
}

/// `POST /webhooks/{webhookId}/test`: the kind of the sample event.
pub(crate) fn webhook_test(body: &[u8]) -> Result<EventKind, ApiError> {
    let mut fields = object(body)?;
    let kind = fields.optional("type", |node| {
        let rule = "must be a type of event such as order.placed";
        EventKind::parse(text(node)?).ok_or_else(|| FieldFault::new("unknown_value", rule))
    });
    fields.finish(|| Some(kind.unwrap_or(SAMPLE)))
}

/// `POST /webhooks/{webhookId}/replay`: the place at which the deliveries begin.
pub(crate) fn replay(body: &[u8]) -> Result<LogPlace, ApiError> {
    let mut fields = Fields::of(body)?;
    let after = fields.required("after", log_place);
    fields.finish(|| after)
}

/// Parses an object that may be left out.
fn object(body: &[u8]) -> Result<Fields<'_>, ApiError> {
    Fields::of(if body.is_empty() { b"{}" } else { body })
}

fn url(node: &Node<'_>, judge: JudgeTarget<'_>) -> Result<WebhookUrl, FieldFault> {
    let text = text(node)?;
    let target = Target::parse(text).map_err(|error| {
        let code = match error {
            TargetError::Empty => "too_short",
            TargetError::TooLong => "too_long",
            _ => "invalid_format",
        };
        FieldFault::new(code, format!("is not valid: {error}"))
    })?;
    judge(&target).map_err(|refusal| FieldFault::new("url_refused", format!("is refused: {refusal}")))?;
    WebhookUrl::parse(text).map_err(|error| FieldFault::new("invalid_format", error.to_string()))
}

fn types(fields: &mut Fields<'_>) -> Option<EventPatterns> {
    let mut faulty = None;
    let types = fields.optional("types", |node| {
        let Node::Array(elements) = node else {
            return Err(FieldFault::new("invalid_type", "must be an array"));
        };
        let mut patterns = Vec::new();
        // The domain refuses a longer list, whatever its other elements are.
        for (index, element) in elements.iter().take(EventPatterns::MAX + 1).enumerate() {
            match text(element) {
                Ok(pattern) => patterns.push(pattern),
                Err(fault) => {
                    faulty = Some((index, fault));
                    return Ok(None);
                }
            }
        }
        match EventPatterns::parse(patterns) {
            Ok(patterns) => Ok(Some(patterns)),
            Err(error) => {
                let rule = error.to_string();
                faulty = Some(match error {
                    EventPatternsError::Length => return Err(FieldFault::new("out_of_range", rule)),
                    EventPatternsError::Unknown { index } => (index, FieldFault::new("unknown_value", rule)),
                    EventPatternsError::Repeated { index } => {
                        (index, FieldFault::new("repeated_value", rule))
                    }
                });
                Ok(None)
            }
        }
    });
    if let Some((index, fault)) = faulty {
        fields.refuse(&format!("types[{index}]"), &fault);
    }
    types.flatten()
}

fn ordering(node: &Node<'_>) -> Result<DeliveryOrder, FieldFault> {
    DeliveryOrder::parse(text(node)?)
        .ok_or_else(|| FieldFault::new("unknown_value", "must be relaxed or strict"))
}

fn log_place(node: &Node<'_>) -> Result<LogPlace, FieldFault> {
    match text(node)? {
        "now" => Ok(LogPlace::Now),
        "oldest" => Ok(LogPlace::Oldest),
        id => EventId::parse_clamped(id)
            .map(LogPlace::After)
            .map_err(|_| FieldFault::new("invalid_format", "must be now, oldest or the id of an event")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOOK: &str = "https://hooks.example/petstore";

    #[expect(clippy::unnecessary_wraps, reason = "the parser takes a function that may refuse")]
    fn any(_: &Target) -> Result<(), TargetRefusal> {
        Ok(())
    }

    fn faults<T>(parsed: Result<T, ApiError>) -> Vec<(String, &'static str)> {
        let details = parsed.err().map(|error| error.details).unwrap_or_default();
        details.into_iter().map(|detail| (detail.field, detail.code)).collect()
    }

    #[test]
    fn a_new_webhook_has_defaults() {
        let body = format!(r#"{{"url":"{HOOK}"}}"#);
        let (new, from) = new_webhook(body.as_bytes(), &any).unwrap();
        assert_eq!((new.url.as_str(), new.types, from), (HOOK, EventPatterns::any(), LogPlace::Now));
        assert_eq!((new.is_enabled, new.ordering, new.description), (true, DeliveryOrder::Relaxed, None));
    }

    #[test]
    fn each_fault_names_its_member() {
        let create = |members: &str| {
            let body = format!(r#"{{"url":"{HOOK}",{members}}}"#);
            faults(new_webhook(body.as_bytes(), &any))
        };
        for (members, field, code) in [
            (r#""types":"*""#, "types", "invalid_type"),
            (r#""types":[]"#, "types", "out_of_range"),
            (r#""types":["*",1]"#, "types[1]", "invalid_type"),
            (r#""types":["*","shop.*"]"#, "types[1]", "unknown_value"),
            (r#""types":["order.*","pet.*","order.*"]"#, "types[2]", "repeated_value"),
            (r#""enabled":1"#, "enabled", "invalid_type"),
            (r#""ordering":"loose""#, "ordering", "unknown_value"),
            (r#""from":"yesterday""#, "from", "invalid_format"),
            (r#""secret":"whsec_""#, "secret", "read_only"),
            (r#""status":"active""#, "status", "read_only"),
            (r#""name":"x""#, "name", "unknown_member"),
        ] {
            assert_eq!(create(members), [(field.to_owned(), code)], "{members}");
        }
        for (url, code) in [("", "too_short"), ("https://127.1/", "invalid_format"), ("x", "invalid_format")]
        {
            let body = format!(r#"{{"url":"{url}"}}"#);
            assert_eq!(faults(new_webhook(body.as_bytes(), &any)), [("url".to_owned(), code)], "{url}");
        }
    }

    #[test]
    fn a_refused_receiver_is_a_fault_of_the_url() {
        let policy = petstore_domain::TargetPolicy::default();
        let judge = |target: &Target| policy.judge_url(target);
        let error = new_webhook(br#"{"url":"http://10.0.0.1/"}"#, &judge).unwrap_err();
        assert_eq!((&*error.details[0].field, error.details[0].code), ("url", "url_refused"));
        assert!(error.details[0].message.contains("webhook-allow"), "{error:?}");
        let error = webhook_patch(br#"{"url":"http://10.0.0.1/"}"#, &judge).unwrap_err();
        assert_eq!(error.details[0].code, "url_refused");
    }

    #[test]
    fn a_patch_moves_only_a_webhook_that_it_enables() {
        let patch = |body: &str| webhook_patch(body.as_bytes(), &any);
        let (changes, from) = patch(r#"{"enabled":true,"from":"oldest","description":null}"#).unwrap();
        assert_eq!((changes.is_enabled, from), (Some(true), Some(LogPlace::Oldest)));
        assert_eq!(changes.description, petstore_domain::Patch::Clear);
        for body in [r#"{"from":"now"}"#, r#"{"enabled":false,"from":"now"}"#] {
            assert_eq!(faults(patch(body)), [("from".to_owned(), "not_allowed")], "{body}");
        }
        assert_eq!(faults(patch(r#"{"url":null}"#)), [("url".to_owned(), "not_nullable")]);
    }

    #[test]
    fn rotations_tests_and_replays_have_bounds_and_defaults() {
        assert_eq!(rotation(b"").unwrap(), OVERLAP);
        assert_eq!(rotation(b"{}").unwrap(), OVERLAP);
        assert_eq!(rotation(br#"{"overlap":0}"#).unwrap(), Duration::ZERO);
        assert_eq!(rotation(br#"{"overlap":604800}"#).unwrap(), OVERLAP_MAX);
        for body in [r#"{"overlap":-1}"#, r#"{"overlap":604801}"#] {
            assert_eq!(faults(rotation(body.as_bytes())), [("overlap".to_owned(), "out_of_range")], "{body}");
        }
        assert_eq!(webhook_test(b"").unwrap(), SAMPLE);
        assert_eq!(webhook_test(br#"{"type":"pet.created"}"#).unwrap(), EventKind::PetCreated);
        assert_eq!(faults(webhook_test(br#"{"type":"pet.*"}"#)), [("type".to_owned(), "unknown_value")]);
        assert_eq!(replay(br#"{"after":"now"}"#).unwrap(), LogPlace::Now);
        assert_eq!(faults(replay(b"{}")), [("after".to_owned(), "required")]);
    }
}
