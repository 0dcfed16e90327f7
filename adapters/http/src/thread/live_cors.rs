//! The origins whose pages may read answers: read by every request, replaced by a reload.

use std::net::IpAddr;
use std::sync::atomic::{AtomicU8, Ordering};

use hyper::Uri;
use hyper::header::HeaderValue;
use parking_lot::RwLock;

use crate::base::settings::Cors;
use crate::wire::request_head::{Field, Head};

/// Which pages of other origins may read answers: every request reads it, a reload changes it.
pub(crate) struct LiveCors {
    /// Read alone unless there is a list, so that a request takes no lock for it.
    mode: AtomicU8,
    origins: RwLock<Vec<String>>,
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
    pub(crate) fn allowed_origin(&self, head: &Head<'_>) -> Option<HeaderValue> {
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
    pub(crate) fn may_act(&self, head: &Head<'_>) -> bool {
        match head.origin {
            Field::Absent => true,
            Field::Twice => false,
            Field::Once(origin) => is_of_this_machine(origin) || self.lists(origin),
        }
    }

    /// Whether an origin is on the list, if there is one.
    fn lists(&self, origin: &HeaderValue) -> bool {
        self.origins.read().iter().any(|one| one.as_bytes() == origin.as_bytes())
    }

    /// Whether any page of another origin may read answers.
    pub(crate) fn is_on(&self) -> bool {
        self.mode.load(Ordering::Relaxed) != OFF
    }
}

/// Whether an origin is at `localhost` or at a loopback address.
fn is_of_this_machine(origin: &HeaderValue) -> bool {
    let Ok(origin) = Uri::try_from(origin.as_bytes()) else { return false };
    // `null` has a host, too.
    let Some(host) = origin.host().filter(|_| origin.scheme().is_some()) else { return false };
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    address
        .map_or_else(|_| host == "localhost" || host.ends_with(".localhost"), |address| address.is_loopback())
}
