//! Errors as problem details (RFC 9457), for clients that ask for them.
//!
//! The form is chosen after the response is made, and made from the body of the contract's own form. So each error has
//! both forms, also one of a step that knows nothing of the second.

use std::borrow::Cow;
use std::sync::Arc;

use hyper::StatusCode;
use hyper::http::request::Parts;

use crate::exchange::forwarded::{ForwardedOrigin, origin_of};
use crate::exchange::host;
use crate::response::answer::{Answer, Content};
use crate::response::quota_headers::{DEFAULT_SHAPE, PolicyNames, QuotaNote, QuotaResource, QuotaShape};
use crate::thread::HookedRequest;
use crate::thread::thread_state::ThreadState;
use crate::wire;
use crate::wire::json::{Node, parse_with_arrays};
use crate::wire::request_head::RequestHead;

/// The registered problem types for a quota and for overload (draft-ietf-httpapi-ratelimit-headers-11, section 7).
const QUOTA_EXCEEDED: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";
const REDUCED_CAPACITY: &str = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";

/// The room for the names of the members and the title, so that most problems are written without a second allocation.
const ROOM: usize = 160;

/// The facts of a request on which the form of its answer depends.
pub(crate) struct AnswerForm<'r> {
    thread: &'r ThreadState,
    parts: &'r Parts,
    head: &'r RequestHead<'r>,
    forwarded_origin: Option<&'r ForwardedOrigin>,
    /// The form of the quota headers; `None` for the default one.
    pub(crate) quota_shape: Option<Arc<QuotaShape>>,
    /// `true` if the connection uses TLS.
    is_secure: bool,
}

impl<'r> AnswerForm<'r> {
    #[inline]
    pub(crate) fn new(
        thread: &'r ThreadState,
        parts: &'r Parts,
        head: &'r RequestHead<'r>,
        forwarded_origin: Option<&'r ForwardedOrigin>,
        hooked: Option<&dyn HookedRequest>,
        is_secure: bool,
    ) -> Self {
        let of_server = thread.app.quota_headers.shape();
        let quota_shape = match hooked {
            None => of_server,
            Some(hooked) => hooked.quota_shape(thread, parts, head).or(of_server),
        };
        Self { thread, parts, head, forwarded_origin, quota_shape, is_secure }
    }

    /// Gives an error the form that its client asks for. Other answers stay as they are.
    #[inline]
    pub(crate) fn choose(&self, answer: &mut Answer, quota: Option<&QuotaNote>) {
        if answer.content == Content::Error && self.head.has_accept() {
            self.choose_for_error(answer, quota);
        }
    }

    #[inline(never)]
    fn choose_for_error(&self, answer: &mut Answer, quota: Option<&QuotaNote>) {
        if !wire::prefers_problem(&self.parts.headers) {
            return;
        }
        let Some(body) = answer.body.whole() else { return };
        let Ok(Node::Object(members)) = parse_with_arrays(body) else { return };
        let member = |name: &str| members.iter().find(|(own, _)| own == name).map(|(_, value)| value);
        let (Some(Node::Text(code)), Some(Node::Text(message))) = (member("code"), member("message")) else {
            return;
        };
        let names = &self.quota_shape.as_deref().unwrap_or(&DEFAULT_SHAPE).names;
        // The same code refuses what the server limits beside the quota, such as replays of webhooks.
        let exhausted = quota.filter(|quota| quota.window().remaining == 0);
        let policy = exhausted.and_then(|quota| violated(code, quota.resource(), names));
        let own_type;
        let r#type = match answer.status {
            _ if policy.is_some() => QUOTA_EXCEEDED,
            StatusCode::SERVICE_UNAVAILABLE => REDUCED_CAPACITY,
            _ => {
                own_type = format!("{}/docs#errors/{code}", self.origin());
                &own_type
            }
        };
        let mut out = Vec::with_capacity(body.len() + r#type.len() + ROOM);
        // The code comes first, as in the other form: a body that was cut off keeps it.
        let texts = [
            ("{\"code\":", &**code),
            (",\"type\":", r#type),
            (",\"title\":", &title(code)),
            (",\"detail\":", message),
        ];
        for (name, text) in texts {
            out.extend_from_slice(name.as_bytes());
            wire::push_string(&mut out, text.as_bytes());
        }
        for name in ["status", "retryAfterSeconds"] {
            if let Some(Node::Integer(number)) = member(name) {
                push_member(&mut out, name);
                wire::push_number(&mut out, u64::try_from(*number).unwrap_or(0));
            }
        }
        if let Some(Node::Array(details)) = member("details") {
            push_member(&mut out, "details");
            push_details(&mut out, details);
        }
        if let Some(policy) = policy {
            out.extend_from_slice(b",\"violated-policies\":[");
            wire::push_string(&mut out, policy.as_bytes());
            out.push(b']');
        }
        out.push(b'}');
        answer.body = out.into();
        answer.content = Content::Problem;
    }

    /// Returns the origin of this server as its client knows it; empty if the request has no valid Host, so that the
    /// reference is relative.
    fn origin(&self) -> Cow<'_, str> {
        if let Some(url) = &self.thread.app.settings.public_url {
            return Cow::Borrowed(url);
        }
        let Ok(authority) = host::authority(self.parts, self.head, self.thread, false) else {
            return Cow::Borrowed("");
        };
        Cow::Owned(origin_of(self.forwarded_origin, self.is_secure, authority))
    }
}

/// Writes the name of a further member.
fn push_member(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

/// Writes details, whose members are texts.
fn push_details(out: &mut Vec<u8>, details: &[Node<'_>]) {
    for (place, detail) in details.iter().enumerate() {
        out.extend_from_slice(if place == 0 { b"[{" } else { b",{" });
        let Node::Object(members) = detail else { continue };
        let texts = members.iter().filter_map(|(name, value)| match value {
            Node::Text(text) => Some((name, text)),
            _ => None,
        });
        for (place, (name, text)) in texts.enumerate() {
            out.extend_from_slice(if place == 0 { b"" } else { b"," });
            wire::push_string(out, name.as_bytes());
            out.push(b':');
            wire::push_string(out, text.as_bytes());
        }
        out.push(b'}');
    }
    out.push(b']');
}

/// Returns the policy that an error of a quota says is used up; `None` for other errors.
fn violated<'n>(code: &str, resource: QuotaResource, names: &'n PolicyNames) -> Option<&'n str> {
    match (code, resource) {
        ("rate_limit_exceeded", QuotaResource::Minute) => Some(&names.minute),
        ("quota_exceeded", QuotaResource::Day) => Some(&names.day),
        ("rate_limit_exceeded", QuotaResource::Address) => Some("address"),
        _ => None,
    }
}

/// Returns the title of a code: its words as a sentence without a full stop.
fn title(code: &str) -> String {
    let mut title = String::with_capacity(code.len());
    for word in code.split('_') {
        match word {
            "api" | "json" | "uri" => title.push_str(&word.to_ascii_uppercase()),
            _ if title.is_empty() => {
                title.extend(word.chars().take(1).map(|first| first.to_ascii_uppercase()));
                title.push_str(&word[1..]);
            }
            word => title.push_str(word),
        }
        title.push(' ');
    }
    title.pop();
    title
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_has_the_words_of_the_code() {
        assert_eq!(title("insufficient_stock"), "Insufficient stock");
        assert_eq!(title("invalid_json"), "Invalid JSON");
        assert_eq!(title("api_key_expired"), "API key expired");
        assert_eq!(title("uri_too_long"), "URI too long");
    }

    #[test]
    fn only_the_errors_of_a_quota_name_a_policy() {
        let names = &DEFAULT_SHAPE.names;
        let violated = |code, resource| violated(code, resource, names);
        assert_eq!(violated("rate_limit_exceeded", QuotaResource::Minute), Some("minute"));
        assert_eq!(violated("rate_limit_exceeded", QuotaResource::Address), Some("address"));
        assert_eq!(violated("quota_exceeded", QuotaResource::Day), Some("day"));
        assert_eq!(violated("too_many_concurrent_requests", QuotaResource::Minute), None);
        assert_eq!(violated("key_banned", QuotaResource::Ban), None);
    }
}
