//! The id of a request.

use hyper::header::HeaderValue;
use petstore_request_journal::KEY_DIGITS_MIN;

use crate::thread::thread_state::ThreadState;
use crate::wire;
use crate::wire::request_head::{Field, RequestHead};

/// The maximum length of a request id that the client chooses.
const REQUEST_ID_MAX: usize = 64;

/// The number of letters and digits after `pet_` from which an id is taken for a part of a key if an upper-case letter is
/// among them; otherwise [`KEY_DIGITS_MIN`], as in recorded requests. The digits of a key are random, and ids such as
/// `pet_adoption1` are made of words. A key has 49, of which anyone may see 8.
const MIXED_DIGITS_MIN: usize = 9;

/// The number of letters and digits after `whsec_` from which an id is taken for a part of the secret of a webhook.
const SECRET_DIGITS_MIN: usize = 1;

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
    // Every request makes this call, and a record one more, for which the compiler would not inline it.
    #[expect(clippy::inline_always)]
    #[inline(always)]
    pub(crate) fn of(head: &RequestHead<'_>, thread: &ThreadState) -> Self {
        let given = match head.request_id {
            Field::Once(id) => Self::given(id),
            _ => None,
        };
        given.unwrap_or_else(|| Self::Made(thread.next_request_id()))
    }

    /// Returns the client's id if it is valid. An id that contains a secret, or a large part of one, is refused,
    /// because this server and others write ids into their logs.
    fn given(id: &HeaderValue) -> Option<Self> {
        let is_id = (1..=REQUEST_ID_MAX).contains(&id.len())
            && id.as_bytes().iter().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(b));
        (is_id && !has_secret(id.as_bytes())).then(|| Self::Given(id.clone()))
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

/// Returns whether an id contains a secret, or a large part of one.
fn has_secret(id: &[u8]) -> bool {
    let is_mixed = |digits: &[u8]| digits.iter().any(u8::is_ascii_uppercase);
    has_after(id, b"pet_", KEY_DIGITS_MIN, |_| true)
        || has_after(id, b"pet_", MIXED_DIGITS_MIN, is_mixed)
        || has_after(id, b"whsec_", SECRET_DIGITS_MIN, |_| true)
}

/// Returns whether an id contains `start` and behind it this number of letters and digits that `judge` takes for a secret's.
fn has_after(id: &[u8], start: &[u8], digits: usize, judge: impl Fn(&[u8]) -> bool) -> bool {
    id.windows(start.len() + digits).any(|part| {
        part.strip_prefix(start).is_some_and(|rest| rest.iter().all(u8::is_ascii_alphanumeric) && judge(rest))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_may_have_words_and_the_public_part_of_a_key_and_no_secret() {
        for id in [
            "pet_",
            "pet_food",
            "pet_4fW1abcD",
            "a.pet_4fW1abcD.b",
            "pet_4fW1abcD-x",
            "whsec_",
            "pet_2030-01-01",
            "update_pet_inventory-7",
            "list_pet_categories",
            "pet_adoption1",
            "pet_adoption12345678901",
        ] {
            assert!(!has_secret(id.as_bytes()), "{id}");
        }
        for id in [
            "pet_4fW1abcDe",
            "pet_4fw1abcdefghijklmnop",
            "pet_4fW1abcDefGhIjKlMnOp",
            "a.pet_4fW1abcDefGhIjKlMnOp",
            "pet_.pet_4fW1abcDefGhIjKlMnOp-f",
            "whsec_M",
            "x-whsec_MfKQ9r8GKYqrTwjU",
        ] {
            assert!(has_secret(id.as_bytes()), "{id}");
        }
    }
}
