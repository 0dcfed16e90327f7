//! The state that all threads of a server share.

use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use petstore_ports::api::{Petstore, Webhooks};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::base::mix::mix;
use crate::base::settings::HttpSettings;
use crate::base::stats::TransportStats;
use crate::counts::counters::ServerCounters;
use crate::response::body::StreamPlaces;
use crate::response::gzip::CachedGzip;
use crate::thread::Hook;
use crate::thread::live_cors::LiveCors;
use crate::thread::live_quota_headers::LiveQuotaHeaders;

/// The routes that a listener serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Serves {
    /// All routes.
    Everything,
    /// The contract, its documents and the reference page, without the endpoints for operators.
    Contract,
    /// Only the endpoints for operators: health, readiness, metrics and the sandbox.
    Ops,
}

/// The compressed forms of the contract.
#[derive(Default)]
pub(crate) struct GzipDocuments {
    pub(crate) yaml: CachedGzip,
    pub(crate) json: CachedGzip,
    pub(crate) yaml_31: CachedGzip,
    pub(crate) json_31: CachedGzip,
    pub(crate) yaml_32: CachedGzip,
    pub(crate) json_32: CachedGzip,
    pub(crate) compact: CachedGzip,
}

/// The state of one server.
pub(crate) struct App {
    pub(crate) api: Arc<dyn Petstore>,
    /// The webhooks, from the first time that they are served.
    pub(crate) webhooks: OnceLock<Arc<dyn Webhooks>>,
    pub(crate) settings: HttpSettings,
    /// The CORS setting. Its first value is [`HttpSettings::cors`].
    pub(crate) cors: LiveCors,
    /// The form of the quota headers. Its first value is [`HttpSettings::quota_headers`].
    pub(crate) quota_headers: LiveQuotaHeaders,
    pub(crate) counters: ServerCounters,
    /// The hook; none costs nothing but a branch.
    pub(crate) hook: Option<Arc<dyn Hook>>,
    pub(crate) gzip_documents: GzipDocuments,
    /// Open streaming answers, at most [`Bounds::streams`](crate::base::settings::Bounds::streams).
    pub(crate) streams: StreamPlaces,
    /// The port at which the API is served; 0 before it is, and if it is served at a socket of another kind.
    api_port: AtomicU16,
    /// `true` while new connections stay in the accept queue.
    held: watch::Sender<bool>,
    /// The number of threads that have begun to serve.
    threads: AtomicU64,
    /// The instant at which the first listener of the server began to stop.
    draining: OnceLock<Instant>,
    /// Notified when the first listener of the server begins to stop. This wakes requests that wait, for example for an
    /// event.
    drain_begins: Notify,
    panics: AtomicU64,
    overloads: AtomicU64,
    /// The number of values in forwarding headers of trusted proxies that were ignored.
    ignored_values: AtomicU64,
    /// `true` once the warning about a trusted proxy that forwards no scheme has been logged.
    said_scheme_lacks: AtomicBool,
}

impl App {
    /// Creates the state of a server, with all counts at zero.
    pub(crate) fn new(api: Arc<dyn Petstore>, settings: HttpSettings, hook: Option<Arc<dyn Hook>>) -> Self {
        let cors = LiveCors::new(settings.cors.clone(), hook.is_some());
        let quota_headers = LiveQuotaHeaders::new(settings.quota_headers);
        Self {
            api,
            webhooks: OnceLock::new(),
            settings,
            cors,
            quota_headers,
            counters: ServerCounters::default(),
            hook,
            gzip_documents: GzipDocuments::default(),
            streams: StreamPlaces::default(),
            api_port: AtomicU16::new(0),
            held: watch::Sender::new(false),
            threads: AtomicU64::new(0),
            draining: OnceLock::new(),
            drain_begins: Notify::new(),
            panics: AtomicU64::new(0),
            overloads: AtomicU64::new(0),
            ignored_values: AtomicU64::new(0),
            said_scheme_lacks: AtomicBool::new(false),
        }
    }

    /// Records the port at which the API is served.
    pub(crate) fn set_api_port(&self, port: u16) {
        self.api_port.store(port, Ordering::Relaxed);
    }

    /// Returns the port at which the API is served; `None` if it is not known.
    pub(crate) fn api_port(&self) -> Option<u16> {
        Some(self.api_port.load(Ordering::Relaxed)).filter(|port| *port != 0)
    }

    /// The number of handlers that panicked since the start.
    pub(crate) fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }

    /// The number of requests that were refused by load shedding since the start.
    pub(crate) fn overloads(&self) -> u64 {
        self.overloads.load(Ordering::Relaxed)
    }

    /// Leaves new connections in the accept queue, or resumes accepting.
    pub(crate) fn hold(&self, is_held: bool) {
        self.held.send_replace(is_held);
    }

    /// Waits until connections may be accepted.
    pub(crate) async fn opened(&self) {
        // `wait_for` fails only without a sender, and the sender is a field of `self`.
        let _ = self.held.subscribe().wait_for(|held| !held).await;
    }

    /// Returns the seed of the request ids of a further thread. The ids of two threads do not overlap.
    pub(crate) fn next_request_ids(&self) -> u64 {
        let number = self.threads.fetch_add(1, Ordering::Relaxed) + 1;
        mix(self.settings.request_ids ^ mix(number))
    }

    /// Records that a listener stops. Returns the instant at which the first one began to stop.
    pub(crate) fn begin_drain(&self) -> Instant {
        let since = *self.draining.get_or_init(Instant::now);
        if let Some(hook) = &self.hook {
            hook.drain_begins();
        }
        self.drain_begins.notify_waiters();
        since
    }

    /// Waits until the first listener of the server begins to stop.
    pub(crate) async fn drain_begins(&self) {
        // The future is created before the check, so that a stop that begins between the check and the wait is not
        // missed.
        let begins = self.drain_begins.notified();
        if !self.is_draining() {
            begins.await;
        }
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.get().is_some()
    }

    pub(crate) fn stats(&self) -> TransportStats {
        let [panics, shed, forwarded_ignored] =
            [&self.panics, &self.overloads, &self.ignored_values].map(|count| count.load(Ordering::Relaxed));
        let streams = self.streams.open() as u64;
        TransportStats { streams, panics, shed, forwarded_ignored, ..self.counters.stats() }
    }

    /// Counts values in forwarding headers of a trusted proxy that were ignored.
    pub(crate) fn count_ignored_values(&self, count: u32) {
        self.ignored_values.fetch_add(u64::from(count), Ordering::Relaxed);
    }

    /// Logs one warning that a trusted proxy forwards no scheme, so that links may have the wrong scheme.
    pub(crate) fn advise_scheme_lacks(&self, proxy: IpAddr) {
        if self.said_scheme_lacks.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Some(observer) = &self.settings.observer {
            observer.advise(&format!(
                "the trusted proxy {} names no scheme, neither in Forwarded nor in X-Forwarded-Proto: links in answers begin \
                 with the scheme of its own connection; have it send X-Forwarded-Proto and X-Forwarded-Host, or set public-url",
                proxy.to_canonical()
            ));
        }
    }

    pub(crate) fn count_panic(&self) {
        self.panics.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_overload(&self) {
        self.overloads.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn report_accept_error(&self, error: &io::Error) {
        if let Some(observer) = &self.settings.observer {
            observer.trouble(&format!("a connection could not be accepted: {error}"));
        }
    }

    pub(crate) fn report_unfinished(&self, connections: usize) {
        if let Some(observer) = &self.settings.observer {
            observer
                .trouble(&format!("connections without their answer at the end of the drain: {connections}"));
        }
    }
}
