//! The CORS setting in force. Every request reads it, and a reload of the configuration replaces it.

use std::sync::atomic::{AtomicU8, Ordering};

use hyper::header::HeaderValue;
use parking_lot::RwLock;

use crate::base::authority::Origin;
use crate::base::settings::Cors;
use crate::wire::request_head::{Field, RequestHead};

/// The origins whose pages may read answers.
pub(crate) struct LiveCors {
    /// The kind of setting. Only the kind `LISTED` requires the list of origins, so most requests take no lock.
    mode: AtomicU8,
    origins: RwLock<Vec<Origin>>,
    /// `true` for a sandbox: it also reads `Prefer`, the headers of `/mcp`, and those by which tests name themselves.
    reads_any_header: bool,
}

const OFF: u8 = 0;
const ANY: u8 = 1;
const LISTED: u8 = 2;

impl LiveCors {
    pub(crate) fn new(cors: Cors, reads_any_header: bool) -> Self {
        let live = Self { mode: AtomicU8::new(OFF), origins: RwLock::default(), reads_any_header };
        live.set(cors);
        live
    }

    /// Replaces the setting.
    pub(crate) fn set(&self, cors: Cors) {
        let (mode, origins) = match cors {
            Cors::Off => (OFF, vec![]),
            Cors::AnyOrigin => (ANY, vec![]),
            Cors::Origins(origins) => (LISTED, origins),
        };
        *self.origins.write() = origins;
        self.mode.store(mode, Ordering::Relaxed);
    }

    /// The origin that may read the answer to this request; `None` if the request has no origin or an origin that is
    /// not allowed.
    pub(crate) fn allowed_origin(&self, head: &RequestHead<'_>) -> Option<HeaderValue> {
        let Field::Once(origin) = head.origin else { return None };
        match self.mode.load(Ordering::Relaxed) {
            OFF => None,
            ANY => Some(HeaderValue::from_static("*")),
            _ => self.lists(origin).then(|| origin.clone()),
        }
    }

    /// Returns `true` if a request may change state without a key. A request without an origin may, because no page has
    /// sent it. Browsers send no preflight for such a request of a page. So a page may send one only if it is a page of
    /// this machine, or if its origin is listed. The setting `any` permits no further pages, because otherwise every
    /// page on the web could change a server on the machine of its reader.
    pub(crate) fn may_act(&self, head: &RequestHead<'_>) -> bool {
        match head.origin {
            Field::Absent => true,
            Field::Twice => false,
            Field::Once(origin) => {
                parsed(origin).is_some_and(|origin| origin.host().is_of_this_machine()) || self.lists(origin)
            }
        }
    }

    /// Returns `true` if an origin is in the list. The list is empty unless the setting is [`Cors::Origins`].
    fn lists(&self, origin: &HeaderValue) -> bool {
        parsed(origin).is_some_and(|origin| self.origins.read().contains(&origin))
    }

    /// Returns `true` if a page that may read answers may send any header.
    pub(crate) fn admits_any_header(&self) -> bool {
        self.reads_any_header || self.mode.load(Ordering::Relaxed) == ANY
    }

    /// Returns `true` if pages of some other origin may read answers.
    pub(crate) fn is_on(&self) -> bool {
        self.mode.load(Ordering::Relaxed) != OFF
    }
}

/// The origin in a field; `None` for `null` and for text that is not an origin.
fn parsed(origin: &HeaderValue) -> Option<Origin> {
    Origin::parse(origin.to_str().ok()?)
}
