//! The id of a request.

use hyper::header::HeaderValue;
use petstore_domain::ApiKey;

use crate::thread::thread_state::ThreadState;
use crate::wire;
use crate::wire::request_head::{Field, RequestHead};

/// The maximum length of a request id that the client chooses.
const REQUEST_ID_MAX: usize = 64;

/// The id of a request.
#[derive(Clone)]
pub(crate) enum RequestId {
    /// The client chose it.
    Given(HeaderValue),
    /// The server made it.
    Made([u8; wire::HEX_LEN]),
}

impl RequestId {
    /// Returns the client's id if it is valid, else a new one.
    // Every request makes this call, and a sandbox one more, for which the compiler would not inline it.
    #[expect(clippy::inline_always)]
    #[inline(always)]
    pub(crate) fn of(head: &RequestHead<'_>, thread: &ThreadState) -> Self {
        let given = match head.request_id {
            Field::Once(id) => Self::given(id),
            _ => None,
        };
        given.unwrap_or_else(|| Self::Made(thread.next_request_id()))
    }

    /// Returns the client's id if it is valid. An id that is or contains an API key is refused, because this server and
    /// others write ids into their logs.
    fn given(id: &HeaderValue) -> Option<Self> {
        let is_id = (1..=REQUEST_ID_MAX).contains(&id.len())
            && id.as_bytes().iter().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(b));
        let mut parts = id.as_bytes().windows(ApiKey::LEN);
        (is_id && parts.all(|part| ApiKey::parse(part).is_err())).then(|| Self::Given(id.clone()))
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Given(id) => id.as_bytes(),
            Self::Made(id) => id,
        }
    }

    /// Returns the id for the log.
    pub(crate) fn as_str(&self) -> &str {
        str::from_utf8(self.as_bytes()).unwrap_or("-")
    }
}
