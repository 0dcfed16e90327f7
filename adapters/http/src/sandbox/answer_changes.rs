//! Planned changes of an answer's body: half of it, broken JSON, a slow body, and additions that clients must ignore.

use std::io::Read as _;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use flate2::read::GzDecoder;
use petstore_domain::AccountId;
use tokio::time::{Sleep, sleep};

use super::fault_plan::BodyFault;
use crate::response::answer::{Answer, Coding, Content};
use crate::response::body::{Body, CHUNK_MAX, Framing, Source, StreamBody, StreamPermit, StreamPlaces};

/// The time between two parts of a slow body.
const TICK: Duration = Duration::from_millis(100);

/// The time between the last part of a truncated body and the end of the connection, so that the part is sent.
const CUT_DELAY: Duration = Duration::from_millis(50);

/// The name of a member that the contract does not have.
const NEW_MEMBER: &str = "addedLater";

/// The code of an error that the contract does not have.
const NEW_CODE: &str = "added_later";

/// The values of the new member.
const NEW_VALUES: [&str; 5] = ["\"text\"", "7", "null", "[1,{\"a\":true}]", "{\"a\":{\"b\":[]}}"];

/// Changes the body of an answer. A stream and an empty body stay as they are. `draw` chooses among the forms of a fault.
pub(super) fn change(answer: &mut Answer, fault: BodyFault, draw: u64) {
    let Some(body) = answer.body.whole().cloned().filter(|body| !body.is_empty()) else { return };
    if !matches!(answer.content, Content::Json | Content::Error | Content::Problem) {
        return;
    }
    let body = match answer.coding {
        Coding::Gzip => {
            answer.coding = Coding::Plain;
            unzipped(&body)
        }
        Coding::Fixed | Coding::Plain => body,
    };
    answer.body = match fault {
        BodyFault::Truncated => stream(BodyParts::half_of(&body)),
        BodyFault::Slow { bytes_per_second } => stream(BodyParts::slow(body, bytes_per_second)),
        BodyFault::Malformed => malformed(&body, draw).into(),
        BodyFault::Grown => grown(&body, answer.status.as_u16() >= 400, draw).into(),
    };
}

fn unzipped(body: &[u8]) -> Bytes {
    let mut plain = Vec::new();
    // The body was compressed in this process, and decompression ends at its end.
    let _ = GzDecoder::new(body).read_to_end(&mut plain);
    plain.into()
}

/// Breaks the JSON of an object or an array.
fn malformed(body: &[u8], draw: u64) -> Vec<u8> {
    let (first, last) = (&body[1..], &body[..body.len() - 1]);
    match draw % 4 {
        0 => last.to_vec(),
        1 => [last, b",", &body[body.len() - 1..]].concat(),
        2 => [body, b"}"].concat(),
        _ => first.to_vec(),
    }
}

/// Adds a member to the object of a body, or to each object of its array, and gives an error another code.
fn grown(body: &[u8], is_error: bool, draw: u64) -> Vec<u8> {
    let value = NEW_VALUES[usize::try_from(draw % NEW_VALUES.len() as u64).unwrap_or(0)];
    let depth_of_objects = usize::from(body.first() == Some(&b'['));
    let mut out = Vec::with_capacity(body.len() + 64);
    let (mut depth, mut in_text, mut is_escaped) = (0_usize, false, false);
    for (place, byte) in body.iter().enumerate() {
        out.push(*byte);
        if in_text {
            in_text = is_escaped || *byte != b'"';
            is_escaped = *byte == b'\\' && !is_escaped;
            continue;
        }
        match byte {
            b'"' => in_text = true,
            b'{' | b'[' => {
                if *byte == b'{' && depth == depth_of_objects {
                    let comma = if body.get(place + 1) == Some(&b'}') { "" } else { "," };
                    out.extend_from_slice(format!("\"{NEW_MEMBER}\":{value}{comma}").as_bytes());
                }
                depth += 1;
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    if is_error { with_new_code(&out) } else { out }
}

/// Replaces the code of an error, which is the first member `code` of its body.
fn with_new_code(body: &[u8]) -> Vec<u8> {
    const START: &[u8] = b"\"code\":\"";
    let begin = body.windows(START.len()).position(|window| window == START).map(|place| place + START.len());
    let end = begin.and_then(|begin| Some(begin + body[begin..].iter().position(|byte| *byte == b'"')?));
    match (begin, end) {
        (Some(begin), Some(end)) => [&body[..begin], NEW_CODE.as_bytes(), &body[end..]].concat(),
        _ => body.to_vec(),
    }
}

fn stream(parts: BodyParts) -> Body {
    // The stream is no stream of events, so it takes none of the places that the account has for those.
    match StreamPlaces::default().take(AccountId::FIRST, 1, 1) {
        Ok(place) => Body::Stream(Box::new(StreamBody {
            source: Box::new(parts),
            framing: Framing::ByHyper,
            permit: StreamPermit::OfAccount(place),
        })),
        Err(_) => Body::EMPTY,
    }
}

/// A body that is sent in parts.
struct BodyParts {
    rest: Bytes,
    /// The number of bytes of a part.
    part: usize,
    /// The time after a part.
    pause: Duration,
    /// Runs after each part.
    timer: Option<Pin<Box<Sleep>>>,
    is_cut: bool,
}

impl BodyParts {
    /// The first half of a body, and then the end of the connection.
    fn half_of(body: &Bytes) -> Self {
        let rest = body.slice(..body.len() / 2);
        Self { rest, part: CHUNK_MAX, pause: CUT_DELAY, timer: None, is_cut: true }
    }

    /// A body that takes a second for this number of bytes.
    fn slow(rest: Bytes, bytes_per_second: u32) -> Self {
        let ticks = u32::try_from(Duration::from_secs(1).as_millis() / TICK.as_millis()).unwrap_or(1);
        let (part, pause) = match bytes_per_second / ticks {
            0 => (1, Duration::from_secs(1) / bytes_per_second.max(1)),
            part => (usize::try_from(part).unwrap_or(CHUNK_MAX).min(CHUNK_MAX), TICK),
        };
        Self { rest, part, pause, timer: None, is_cut: false }
    }
}

impl Source for BodyParts {
    fn poll_chunk(&mut self, context: &mut Context<'_>, is_stopping: bool) -> Poll<Option<Bytes>> {
        if let Some(timer) = &mut self.timer {
            if !is_stopping && timer.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            self.timer = None;
        }
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        let part = if is_stopping { CHUNK_MAX } else { self.part };
        let chunk = self.rest.split_to(part.min(self.rest.len()));
        if self.is_cut || !self.rest.is_empty() {
            self.timer = Some(Box::pin(sleep(self.pause)));
        }
        Poll::Ready(Some(chunk))
    }

    fn is_cut(&self) -> bool {
        self.is_cut
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use hyper::StatusCode;
    use serde_json::{Value, json};
    use tokio::time::Instant;

    use super::*;

    const BODIES: [&str; 6] = [
        "[]",
        "{}",
        r#"{"name":"a \"{\\","id":1}"#,
        r#"[{"id":1},{"id":2,"tags":[{"a":"}"}]}]"#,
        r"[{}]",
        r#"{"minute":{"limit":1},"day":{}}"#,
    ];

    #[test]
    fn a_malformed_body_is_never_json() {
        for body in BODIES {
            for draw in 0..4 {
                let broken = malformed(body.as_bytes(), draw);
                assert!(serde_json::from_slice::<Value>(&broken).is_err(), "{body} {draw}");
            }
        }
    }

    #[test]
    fn a_grown_body_has_one_more_member_in_each_of_its_objects() {
        for body in BODIES {
            for draw in 0..5 {
                let mut value: Value = serde_json::from_slice(&grown(body.as_bytes(), false, draw)).unwrap();
                let objects = match &mut value {
                    Value::Array(elements) => elements.iter_mut().collect(),
                    object => vec![object],
                };
                for object in objects {
                    assert!(object.as_object_mut().unwrap().remove(NEW_MEMBER).is_some(), "{body}");
                }
                assert_eq!(value, serde_json::from_str::<Value>(body).unwrap());
            }
        }
        let error =
            r#"{"code":"not_found","message":"\"code\":\"x\"","status":404,"details":[{"code":"required"}]}"#;
        let expected = json!({"addedLater": 7, "code": "added_later", "message": "\"code\":\"x\"", "status": 404,
            "details": [{"code": "required"}]});
        assert_eq!(serde_json::from_slice::<Value>(&grown(error.as_bytes(), true, 1)).unwrap(), expected);
    }

    async fn sent(mut parts: BodyParts, is_stopping: bool) -> (Vec<u8>, Duration) {
        let (begun, mut sent) = (Instant::now(), Vec::new());
        while let Some(chunk) = poll_fn(|context| parts.poll_chunk(context, is_stopping)).await {
            assert!(chunk.len() <= CHUNK_MAX);
            sent.extend_from_slice(&chunk);
        }
        (sent, begun.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_body_keeps_its_speed_until_the_server_stops() {
        let body = Bytes::from(vec![b'x'; 100]);
        for (speed, millis) in [(1, 99_000), (7, 14_142), (20, 4_900), (100, 900), (1_000, 0)] {
            let (sent, time) = sent(BodyParts::slow(body.clone(), speed), false).await;
            let error = time.as_millis().abs_diff(millis);
            // Timers of the runtime have a resolution of a millisecond.
            assert!(sent == body && error <= 100, "{speed}: {time:?}");
        }
        assert_eq!(sent(BodyParts::slow(body.clone(), 1), true).await, (body.to_vec(), Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn half_of_a_body_ends_with_a_cut() {
        let parts = BodyParts::half_of(&Bytes::from_static(b"[1,2,3]"));
        assert!(parts.is_cut());
        assert_eq!(sent(parts, false).await.0, b"[1,");
    }

    #[test]
    fn a_compressed_body_is_changed_in_its_plain_form() {
        let mut zipped = Vec::new();
        flate2::read::GzEncoder::new(&b"[{}]"[..], flate2::Compression::fast())
            .read_to_end(&mut zipped)
            .unwrap();
        let mut answer = Answer { coding: Coding::Gzip, ..Answer::json(StatusCode::OK, zipped) };
        change(&mut answer, BodyFault::Grown, 1);
        assert_eq!(answer.coding, Coding::Plain);
        assert_eq!(&**answer.body.whole().unwrap(), br#"[{"addedLater":7}]"#);
        let mut empty = Answer::empty(StatusCode::NO_CONTENT);
        change(&mut empty, BodyFault::Malformed, 1);
        assert!(empty.body.whole().unwrap().is_empty());
    }
}
