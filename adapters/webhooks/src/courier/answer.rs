//! The answer of a receiver, read within bounds.

use std::time::{Duration, UNIX_EPOCH};

use http_body_util::BodyExt as _;
use hyper::Response;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, DATE, HeaderMap, HeaderName, LOCATION, RETRY_AFTER};
use petstore_domain::{AnswerCut, ReceiverAnswer, Timestamp};
use tokio::time::{Instant, timeout_at};

/// The maximum of a wait that a receiver can ask for. The caller's own maximum is shorter.
const WAIT_MAX: Duration = Duration::from_hours(365 * 24);

/// Reads an answer. A body that is too long, late or incomplete is cut where it is then, and the answer has the reason.
pub(super) async fn read(
    response: Response<Incoming>,
    body_max: usize,
    until: Instant,
    now: Timestamp,
) -> ReceiverAnswer {
    let (head, body) = response.into_parts();
    let text = |name: HeaderName| header_text(&head.headers, name);
    let mut answer = ReceiverAnswer {
        status: head.status.as_u16(),
        body: None,
        wait: wait(&head.headers, now),
        retry_after: text(RETRY_AFTER),
        location: text(LOCATION),
        content_type: text(CONTENT_TYPE),
        cut: None,
    };
    let mut kept = Vec::new();
    let read = timeout_at(until, read_body(body, body_max, &mut kept)).await;
    answer.cut = read.unwrap_or(Err(AnswerCut::Late)).err();
    answer.body = readable(&kept);
    answer
}

/// Reads a body to its end, and keeps its beginning.
async fn read_body(mut body: Incoming, body_max: usize, kept: &mut Vec<u8>) -> Result<(), AnswerCut> {
    let mut left = body_max;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| AnswerCut::Closed)?.into_data() else { continue };
        let wanted = ReceiverAnswer::BODY_MAX - kept.len();
        kept.extend_from_slice(&data[..data.len().min(wanted)]);
        left = left.checked_sub(data.len()).ok_or(AnswerCut::TooLong)?;
    }
    Ok(())
}

/// Returns the beginning of a body if it is text. The last character may be incomplete.
fn readable(body: &[u8]) -> Option<Box<str>> {
    let text = match std::str::from_utf8(body) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&body[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    let is_text = |sign: char| !sign.is_control() || matches!(sign, '\t' | '\r' | '\n');
    (!text.is_empty() && text.chars().all(is_text)).then(|| text.into())
}

/// Returns a header if it is short visible text.
fn header_text(headers: &HeaderMap, name: HeaderName) -> Option<Box<str>> {
    let text = headers.get(name)?.to_str().ok()?;
    (text.len() <= ReceiverAnswer::HEADER_MAX).then(|| text.into())
}

/// Returns the wait that a header `Retry-After` asks for: seconds, or a date, which is compared with the receiver's own
/// clock if it tells the time.
fn wait(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(text.parse().map_or(WAIT_MAX, Duration::from_secs).min(WAIT_MAX));
    }
    let since_epoch = |text: &str| httpdate::parse_http_date(text).ok()?.duration_since(UNIX_EPOCH).ok();
    let until = since_epoch(text)?;
    let own = headers.get(DATE).and_then(|date| date.to_str().ok()).and_then(since_epoch);
    let now = own.unwrap_or_else(|| Duration::from_millis(now.as_millis().try_into().unwrap_or(0)));
    Some(until.saturating_sub(now).min(WAIT_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_a_number_of_seconds_or_a_date() {
        let now = Timestamp::EPOCH.plus(Duration::from_secs(784_111_777));
        let secs = Duration::from_secs;
        for (retry_after, date, expected) in [
            ("120", None, Some(secs(120))),
            (" 0 ", None, Some(Duration::ZERO)),
            ("99999999999999999999999", None, Some(WAIT_MAX)),
            ("Sun, 06 Nov 1994 08:50:07 GMT", None, Some(secs(30))),
            ("Sun, 06 Nov 1994 08:50:07 GMT", Some("Sun, 06 Nov 1994 08:50:00 GMT"), Some(secs(7))),
            ("Sun, 06 Nov 1994 08:00:00 GMT", None, Some(Duration::ZERO)),
            ("Fri, 31 Dec 9999 23:59:59 GMT", None, Some(WAIT_MAX)),
            ("-1", None, None),
            ("1.5", None, None),
            ("", None, None),
            ("soon", None, None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, retry_after.parse().unwrap());
            date.map(|date: &str| headers.insert(DATE, date.parse().unwrap()));
            assert_eq!(wait(&headers, now), expected, "{retry_after} at {date:?}");
        }
        assert_eq!(wait(&HeaderMap::new(), now), None);
    }

    #[test]
    fn a_body_is_kept_if_it_is_text() {
        for (body, expected) in [
            (&b"ok\n"[..], Some("ok\n")),
            ("é".as_bytes(), Some("é")),
            (&"aé".as_bytes()[..2], Some("a")),
            (b"", None),
            (b"\x1f\x8b\x08", None),
            (b"a\0b", None),
            (b"a\x1b[2J", None),
            (b"a\xffb", None),
        ] {
            assert_eq!(readable(body).as_deref(), expected, "{body:?}");
        }
    }
}
