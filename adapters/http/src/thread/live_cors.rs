//! The origins whose pages may read answers: read by every request, replaced by a reload.

use std::sync::atomic::{AtomicU8, Ordering};

use hyper::header::HeaderValue;
use parking_lot::RwLock;

use crate::base::authority::Origin;
use crate::base::settings::Cors;
use crate::wire::request_head::{Field, RequestHead};

/// Which pages of other origins may read answers: every request reads it, a reload changes it.
pub(crate) struct LiveCors {
    /// Read alone unless there is a list, so that a request takes no lock for it.
    mode: AtomicU8,
    origins: RwLock<Vec<Origin>>,
}

const OFF: u8 = 0;
const ANY: u8 = 1;
const LISTED: u8 = 2;

impl LiveCors {
    pub(crate) fn new(cors: Cors) -> Self {
        let live = Self { mode: AtomicU8::new(OFF), origins: RwLock::default() };
        live.set(cors);
        live
    }

    /// From now on this is in force.
    pub(crate) fn set(&self, cors: Cors) {
        let (mode, origins) = match cors {
            Cors::Off => (OFF, vec![]),
            Cors::AnyOrigin => (ANY, vec![]),
            Cors::Origins(origins) => (LISTED, origins),
        };
        *self.origins.write() = origins;
        self.mode.store(mode, Ordering::Relaxed);
    }

    /// The origin that may read the answer to this request; none if the request has no origin, or no right to one.
    pub(crate) fn allowed_origin(&self, head: &RequestHead<'_>) -> Option<HeaderValue> {
        let Field::Once(origin) = head.origin else { return None };
        match self.mode.load(Ordering::Relaxed) {
            OFF => None,
            ANY => Some(HeaderValue::from_static("*")),
            _ => self.lists(origin).then(|| origin.clone()),
        }
    }

    /// Whether a page may change what is changed without a key, for which no preflight is needed: a page of this machine,
    /// or one whose origin is listed. `any` is not enough. Whoever opens some page of the web would else have it at their
    /// own machine's servers.
    pub(crate) fn may_act(&self, head: &RequestHead<'_>) -> bool {
        match head.origin {
            Field::Absent => true,
            Field::Twice => false,
            Field::Once(origin) => {
                parsed(origin).is_some_and(|origin| origin.host().is_of_this_machine()) || self.lists(origin)
            }
        }
    }

    /// Whether an origin is on the list, if there is one.
    fn lists(&self, origin: &HeaderValue) -> bool {
        parsed(origin).is_some_and(|origin| self.origins.read().contains(&origin))
    }

    /// Whether pages of any origin may read answers.
    pub(crate) fn is_any(&self) -> bool {
        self.mode.load(Ordering::Relaxed) == ANY
    }

    /// Whether any page of another origin may read answers.
    pub(crate) fn is_on(&self) -> bool {
        self.mode.load(Ordering::Relaxed) != OFF
    }
}

/// The origin in a field; none for `null`.
fn parsed(origin: &HeaderValue) -> Option<Origin> {
    Origin::parse(origin.to_str().ok()?)
}
