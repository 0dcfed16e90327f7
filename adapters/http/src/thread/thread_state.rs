//! The state of one thread of a server. It is not shared, so that no thread waits for another.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use hyper::header::HeaderValue;
use petstore_domain::{ApiKey, Timestamp, Version};
use tokio::task::{AbortHandle, spawn_local};

use crate::base::mix::mix;
use crate::counts::counters::ThreadCounters;
use crate::io::send_batch::SendBatch;
use crate::response::arena::Arena;
use crate::response::gzip::GzipEncoder;
use crate::response::header_templates::HeaderTemplates;
use crate::thread::known_keys::KnownKeys;
use crate::thread::overload::LoadShedder;
use crate::thread::shared::{App, Serves};
use crate::thread::wakeups::Wakeups;
use crate::wire;

/// The state of one thread.
pub(crate) struct ThreadState {
    pub(crate) app: Arc<App>,
    pub(crate) serves: Serves,
    /// The prefix of the store's entity tags, and the epoch that it was made for.
    tags: Cell<(u64, wire::TagPrefix)>,
    pub(crate) arena: Arena,
    pub(crate) header_templates: HeaderTemplates,
    pub(crate) gzip: GzipEncoder,
    /// Batches the wake-ups of requests that write.
    pub(crate) wakeups: Wakeups,
    /// Batches the answers to be sent.
    pub(crate) send_batch: Rc<SendBatch>,
    pub(crate) counters: Arc<ThreadCounters>,
    pub(crate) load_shedder: LoadShedder,
    /// Identifies callers for load shedding.
    pub(crate) known_keys: KnownKeys,
    request_ids: Cell<u64>,
    host: RefCell<Option<HeaderValue>>,
    /// The last text that had the form of a key.
    key: Cell<Option<ApiKey>>,
}

impl ThreadState {
    pub(crate) fn new(app: Arc<App>, serves: Serves) -> Self {
        let epoch = app.settings.epoch.get();
        Self {
            request_ids: Cell::new(app.next_request_ids()),
            tags: Cell::new((epoch, wire::TagPrefix::new(epoch))),
            arena: Arena::new(),
            header_templates: HeaderTemplates::new(&app.settings.base_path),
            gzip: GzipEncoder::new(),
            wakeups: Wakeups::default(),
            send_batch: Rc::new(SendBatch::new()),
            counters: app.counters.add_thread(),
            load_shedder: LoadShedder::new(app.settings.deadlines.turn),
            known_keys: KnownKeys::new(),
            app,
            serves,
            host: RefCell::new(None),
            key: Cell::new(None),
        }
    }

    /// The entity tag of a version of a resource.
    #[inline]
    pub(crate) fn tag(&self, version: Version) -> wire::EntityTag {
        let epoch = self.app.settings.epoch.get();
        let (known, mut prefix) = self.tags.get();
        if known != epoch {
            prefix = wire::TagPrefix::new(epoch);
            self.tags.set((epoch, prefix));
        }
        prefix.tag(version)
    }

    /// The time of day, for a request.
    pub(crate) fn time(&self) -> Timestamp {
        let read = || self.app.api.now();
        // A request to a hook may set the clock, and the next request must see the new time at once.
        if self.app.hook.is_some() { read() } else { self.send_batch.time(read) }
    }

    /// Starts the tasks that all connections of this thread need.
    pub(crate) fn spawn_tasks(&self) -> [AbortHandle; 2] {
        [spawn_local(self.wakeups.dispatcher()), spawn_local(self.send_batch.flusher())]
            .map(|task| task.abort_handle())
    }

    /// Returns `true` if this Host equals the last valid one. A server usually has one name, so most requests need no
    /// validation.
    pub(crate) fn knows_host(&self, host: &HeaderValue) -> bool {
        self.host.borrow().as_ref() == Some(host)
    }

    /// Records a valid Host.
    pub(crate) fn remember_host(&self, host: &HeaderValue) {
        *self.host.borrow_mut() = Some(host.clone());
    }

    /// Returns a text as a key if it has the form of one. A client repeats its key, so most requests need no checksum.
    pub(crate) fn key(&self, text: &[u8]) -> Option<ApiKey> {
        let known = self.key.get().filter(|key| key.as_bytes() == text);
        let key = known.or_else(|| ApiKey::parse(text).ok())?;
        self.key.set(Some(key));
        Some(key)
    }

    /// An id for a request that has none: 16 hexadecimal digits that look random and do not repeat.
    pub(crate) fn next_request_id(&self) -> [u8; wire::HEX_LEN] {
        wire::hex(self.next_number())
    }

    /// A number that looks random and does not repeat.
    pub(crate) fn next_number(&self) -> u64 {
        let number = self.request_ids.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
        self.request_ids.set(number);
        mix(number)
    }
}
