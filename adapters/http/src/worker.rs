//! What one thread of a server keeps to itself: no other thread ever waits for it.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use hyper::header::HeaderValue;

use crate::app::{App, Serves};
use crate::arena::Arena;
use crate::mailbox::Mailbox;
use crate::wire;

/// One thread's own state.
pub(crate) struct Worker {
    pub(crate) app: Arc<App>,
    pub(crate) serves: Serves,
    /// What the entity tags of this store begin with.
    pub(crate) tags: wire::TagPrefix,
    pub(crate) arena: Arena,
    /// Through which requests that write are woken.
    pub(crate) mailbox: Mailbox,
    request_ids: Cell<u64>,
    limit: RefCell<Prepared>,
    reset: RefCell<Prepared>,
    host: RefCell<Option<HeaderValue>>,
}

/// A number as a header value, kept for the next answer: limits and resets are the same for many.
struct Prepared {
    number: u64,
    value: HeaderValue,
}

impl Prepared {
    const ZERO: Self = Self { number: 0, value: HeaderValue::from_static("0") };

    fn get(&mut self, number: u64) -> HeaderValue {
        if self.number != number {
            *self = Self { number, value: HeaderValue::from(number) };
        }
        self.value.clone()
    }
}

impl Worker {
    pub(crate) fn new(app: Arc<App>, number: usize, serves: Serves) -> Self {
        // Two threads, and two servers, count in different ranges: the epoch is random, and the threads are few.
        let seed = mix(app.settings.epoch ^ mix(number as u64 + 1));
        Self {
            tags: wire::TagPrefix::new(app.settings.epoch),
            arena: Arena::new(),
            mailbox: Mailbox::default(),
            app,
            serves,
            request_ids: Cell::new(seed),
            limit: RefCell::new(Prepared::ZERO),
            reset: RefCell::new(Prepared::ZERO),
            host: RefCell::new(None),
        }
    }

    /// A header's value: visible ASCII.
    pub(crate) fn header(&self, text: &[u8]) -> HeaderValue {
        HeaderValue::from_maybe_shared(self.arena.copy(text)).expect("what is written here is visible ASCII")
    }

    /// A number as a header's value.
    pub(crate) fn number(&self, number: u32) -> HeaderValue {
        self.header(itoa::Buffer::new().format(number).as_bytes())
    }

    /// The value of a limit, which is the same for all accounts of a plan.
    pub(crate) fn limit_value(&self, limit: u32) -> HeaderValue {
        self.limit.borrow_mut().get(u64::from(limit))
    }

    /// The value of a reset, which is the same for a minute.
    pub(crate) fn reset_value(&self, reset_secs: u64) -> HeaderValue {
        self.reset.borrow_mut().get(reset_secs)
    }

    /// Whether this Host was found good last time. A server mostly has one name, and judging it anew costs as much as
    /// reading the pet.
    pub(crate) fn knows_host(&self, host: &HeaderValue) -> bool {
        self.host.borrow().as_ref() == Some(host)
    }

    /// This Host is good.
    pub(crate) fn remember_host(&self, host: &HeaderValue) {
        *self.host.borrow_mut() = Some(host.clone());
    }

    /// An id for a request that brought none: 16 hexadecimal digits that look random and do not repeat.
    pub(crate) fn next_request_id(&self) -> HeaderValue {
        let number = self.request_ids.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
        self.request_ids.set(number);
        self.header(&wire::hex(mix(number)))
    }
}

/// The finaliser of splitmix64: a permutation of the 64-bit numbers, so distinct numbers stay distinct.
fn mix(mut number: u64) -> u64 {
    number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}
