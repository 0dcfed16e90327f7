//! The check of a received request, with the reason why it fails.

use petstore_domain::Timestamp;
use petstore_ports::{SignatureVerdict, SignedRequest, WebhookSecret};

use super::body_forms::forms;
use super::signature::{is_signed, secret_bytes, signatures};

/// Checks a request. A signature that does not fit is compared with those of other forms of the body, so that the verdict
/// names a common mistake of receivers.
pub(super) fn verify(
    secrets: &[WebhookSecret],
    request: SignedRequest<'_>,
    now: Timestamp,
) -> SignatureVerdict {
    let Some(id) = request.id else { return SignatureVerdict::Unsigned("webhook-id") };
    let Some(timestamp) = request.timestamp else { return SignatureVerdict::Unsigned("webhook-timestamp") };
    let Some(header) = request.signature else { return SignatureVerdict::Unsigned("webhook-signature") };
    let is_number = !timestamp.is_empty() && timestamp.bytes().all(|byte| byte.is_ascii_digit());
    let Some(sent_at) = timestamp.parse::<u64>().ok().filter(|_| is_number) else {
        return SignatureVerdict::MalformedTimestamp;
    };
    let received = signatures(header);
    if received.is_empty() {
        return SignatureVerdict::MalformedSignature;
    }
    let keys: Vec<_> = secrets.iter().filter_map(|secret| secret_bytes(secret.reveal())).collect();
    let fits = |key: &[u8], body: &[u8]| is_signed(&received, key, id, timestamp, body);
    if keys.iter().any(|key| fits(key, request.body)) {
        return timeliness(sent_at, now);
    }
    let differs = forms(request.body).into_iter().find(|(_, body)| keys.iter().any(|key| fits(key, body)));
    if let Some((change, _)) = differs {
        return SignatureVerdict::BodyDiffers(change);
    }
    let is_text = secrets.iter().any(|secret| fits(secret.reveal().as_bytes(), request.body));
    if is_text { SignatureVerdict::SecretNotDecoded } else { SignatureVerdict::OtherSecret }
}

fn timeliness(sent_at: u64, now: Timestamp) -> SignatureVerdict {
    let now = u64::try_from(now.as_millis().div_euclid(1_000)).unwrap_or(0);
    let max = SignatureVerdict::TOLERANCE_SECONDS;
    match (now.saturating_sub(sent_at), sent_at.saturating_sub(now)) {
        (seconds, _) if seconds > max => SignatureVerdict::Stale { seconds },
        (_, seconds) if seconds > max => SignatureVerdict::Early { seconds },
        _ => SignatureVerdict::Valid,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use petstore_ports::BodyChange;

    use super::super::signature::{secret_text, sign};
    use super::*;

    const KEY: [u8; 32] = [7; 32];
    const BODY: &str = r#"{"id":"evt_1","data":{"name":"Zoë \"x\"","tags":[1, 2]}}"#;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::EPOCH.plus(Duration::from_secs(seconds))
    }

    fn judge(secret: &WebhookSecret, signature: &str, body: &[u8], now: u64) -> SignatureVerdict {
        let request =
            SignedRequest { id: Some("evt_1"), timestamp: Some("1000"), signature: Some(signature), body };
        verify(std::slice::from_ref(secret), request, at(now))
    }

    #[test]
    fn a_request_is_valid_for_five_minutes() {
        let (secret, signature) = (secret_text(&KEY), sign(&KEY, "evt_1", "1000", BODY.as_bytes()));
        for (now, expected) in [
            (699, SignatureVerdict::Early { seconds: 301 }),
            (700, SignatureVerdict::Valid),
            (1_000, SignatureVerdict::Valid),
            (1_300, SignatureVerdict::Valid),
            (1_301, SignatureVerdict::Stale { seconds: 301 }),
        ] {
            assert_eq!(judge(&secret, &signature, BODY.as_bytes(), now), expected, "{now}");
        }
        let two = format!("v1a,xyz {} {signature}", sign(&[8; 32], "evt_1", "1000", BODY.as_bytes()));
        assert_eq!(
            judge(&secret, &two, BODY.as_bytes(), 1_000),
            SignatureVerdict::Valid,
            "during a rotation"
        );
        let both = [secret_text(&[8; 32]), secret];
        let request = SignedRequest {
            id: Some("evt_1"),
            timestamp: Some("1000"),
            signature: Some(&signature),
            body: BODY.as_bytes(),
        };
        assert_eq!(verify(&both, request, at(1_000)), SignatureVerdict::Valid, "one of two secrets");
        assert_eq!(verify(&[], request, at(1_000)), SignatureVerdict::OtherSecret);
    }

    #[test]
    fn a_changed_body_is_told_from_another_secret() {
        let secret = secret_text(&KEY);
        let compact = BODY.replace(", ", ",");
        let of = |body: &str| sign(&KEY, "evt_1", "1000", body.as_bytes());
        for (signed, received, change) in [
            (BODY, format!("{BODY}\n"), BodyChange::SpaceAdded),
            (BODY, format!("{BODY} \r\n"), BodyChange::SpaceAdded),
            ("{}\n", "{}".to_owned(), BodyChange::LineFeedLost),
            ("{\n}", "{\r\n}".to_owned(), BodyChange::LineEnds),
            (&compact, BODY.to_owned(), BodyChange::Reformatted),
            (&compact, compact.replace(':', ": ").replace(',', ",\n  "), BodyChange::Reformatted),
            (&compact, compact.replace('ë', "\\u00eb"), BodyChange::Reformatted),
        ] {
            let verdict = judge(&secret, &of(signed), received.as_bytes(), 1_000);
            assert_eq!(verdict, SignatureVerdict::BodyDiffers(change), "{received}");
        }
        let altered = BODY.replace("evt_1", "evt_2");
        assert_eq!(judge(&secret, &of(BODY), altered.as_bytes(), 1_000), SignatureVerdict::OtherSecret);
        assert_eq!(
            judge(&secret_text(&[8; 32]), &of(BODY), BODY.as_bytes(), 1_000),
            SignatureVerdict::OtherSecret
        );
        let of_text = sign(secret.reveal().as_bytes(), "evt_1", "1000", BODY.as_bytes());
        assert_eq!(judge(&secret, &of_text, BODY.as_bytes(), 1_000), SignatureVerdict::SecretNotDecoded);
    }

    #[test]
    fn missing_and_malformed_headers_are_named() {
        let signature = sign(&KEY, "evt_1", "1000", BODY.as_bytes());
        let whole = SignedRequest {
            id: Some("evt_1"),
            timestamp: Some("1000"),
            signature: Some(&signature),
            body: BODY.as_bytes(),
        };
        for (request, expected) in [
            (SignedRequest { id: None, ..whole }, SignatureVerdict::Unsigned("webhook-id")),
            (SignedRequest { timestamp: None, ..whole }, SignatureVerdict::Unsigned("webhook-timestamp")),
            (SignedRequest { signature: None, ..whole }, SignatureVerdict::Unsigned("webhook-signature")),
            (SignedRequest { timestamp: Some(""), ..whole }, SignatureVerdict::MalformedTimestamp),
            (SignedRequest { timestamp: Some("+1000"), ..whole }, SignatureVerdict::MalformedTimestamp),
            (SignedRequest { timestamp: Some("2026-01-01"), ..whole }, SignatureVerdict::MalformedTimestamp),
            (
                SignedRequest { timestamp: Some("99999999999999999999"), ..whole },
                SignatureVerdict::MalformedTimestamp,
            ),
            (SignedRequest { signature: Some(""), ..whole }, SignatureVerdict::MalformedSignature),
            (SignedRequest { signature: Some("v1,?"), ..whole }, SignatureVerdict::MalformedSignature),
            (SignedRequest { signature: Some("v1a,AAAA"), ..whole }, SignatureVerdict::MalformedSignature),
            (whole, SignatureVerdict::Valid),
        ] {
            assert_eq!(verify(&[secret_text(&KEY)], request, at(1_000)), expected, "{request:?}");
        }
    }
}
