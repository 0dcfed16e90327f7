//! What all threads of a server share.

use std::io;
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use petstore_ports::api::Petstore;
use rustls::ServerConfig;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::cors::LiveCors;
use crate::forwarded::Outer;
use crate::local::LocalServer;
use crate::packer::Packed;
use crate::sandbox::Sandbox;
use crate::server::{Endpoint, Server};
use crate::settings::{Cors, HttpSettings};
use crate::tally::{Figures, Tallies};
use crate::tls::acceptor;
use crate::worker::mix;

/// The petstore over HTTP: what is served, without a socket yet.
#[derive(Clone)]
pub struct Http {
    app: Arc<App>,
    /// Whether health and readiness are served on a listener of their own.
    ops_apart: bool,
}

/// What a listener serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Serves {
    /// The contract, and what an operator asks.
    Everything,
    /// The contract alone.
    Contract,
    /// What an operator asks alone.
    Ops,
}

pub(crate) struct App {
    pub(crate) api: Arc<dyn Petstore>,
    pub(crate) settings: HttpSettings,
    /// [`HttpSettings::cors`], until it is changed.
    pub(crate) cors: LiveCors,
    pub(crate) tallies: Tallies,
    pub(crate) sandbox: Option<Sandbox>,
    /// The contract as gzip, in both forms.
    pub(crate) packed_yaml: Packed,
    pub(crate) packed_json: Packed,
    /// Whether connections wait to be accepted.
    held: watch::Sender<bool>,
    /// How many threads have begun to serve, whatever they serve.
    workers: AtomicU64,
    /// Since when the first of its listeners is to stop.
    draining: OnceLock<Instant>,
    panics: AtomicU64,
    overloads: AtomicU64,
    /// Values in forwarding headers of trusted proxies that were ignored.
    ignored_values: AtomicU64,
    /// Whether it has been said that a trusted proxy names no scheme.
    said_scheme_lacks: AtomicBool,
}

impl Http {
    /// Serves this petstore. With `ops_apart`, health and readiness only on [`Http::listen_ops`].
    ///
    /// # Panics
    /// The base path is not made of visible ASCII characters alone: it is a part of headers.
    pub fn new(api: Arc<dyn Petstore>, settings: HttpSettings, ops_apart: bool) -> Self {
        assert!(settings.base_path.bytes().all(|b| b.is_ascii_graphic()), "a base path is visible ASCII");
        let cors = LiveCors::new(settings.cors.clone());
        let tallies = Tallies::default();
        let sandbox = settings.sandbox.clone().map(|port| Sandbox::new(port, settings.epoch));
        let app = App {
            api,
            settings,
            cors,
            tallies,
            sandbox,
            packed_yaml: Packed::default(),
            packed_json: Packed::default(),
            held: watch::Sender::new(false),
            workers: AtomicU64::new(0),
            draining: OnceLock::new(),
            panics: AtomicU64::new(0),
            overloads: AtomicU64::new(0),
            ignored_values: AtomicU64::new(0),
            said_scheme_lacks: AtomicBool::new(false),
        };
        Self { app: Arc::new(app), ops_apart }
    }

    /// Serves in the clear, on this many threads.
    ///
    /// # Errors
    /// The address is taken, or a socket or thread cannot be had.
    pub fn listen(&self, endpoint: impl Into<Endpoint>, threads: NonZeroUsize) -> io::Result<Server> {
        Server::start(endpoint.into(), threads, Arc::clone(&self.app), self.serves(), None)
    }

    /// Serves under TLS, on this many threads: HTTP/2 to clients that choose it in the handshake, else HTTP/1.1. Which
    /// protocols are offered is set here, whatever the configuration says; everything else is the owner's.
    ///
    /// # Errors
    /// The same as [`Http::listen`].
    pub fn listen_tls(
        &self,
        endpoint: impl Into<Endpoint>,
        threads: NonZeroUsize,
        tls: ServerConfig,
    ) -> io::Result<Server> {
        let tls = acceptor(tls);
        Server::start(endpoint.into(), threads, Arc::clone(&self.app), self.serves(), Some(&tls))
    }

    fn serves(&self) -> Serves {
        if self.ops_apart { Serves::Contract } else { Serves::Everything }
    }

    /// Serves health and readiness on an address of their own, in the clear.
    ///
    /// # Errors
    /// The same as [`Http::listen`].
    pub fn listen_ops(&self, endpoint: impl Into<Endpoint>) -> io::Result<Server> {
        Server::start(endpoint.into(), NonZeroUsize::MIN, Arc::clone(&self.app), Serves::Ops, None)
    }

    /// From the next request on, these pages of other origins may read answers.
    pub fn set_cors(&self, cors: Cors) {
        self.app.cors.set(cors);
    }

    /// Serves connections that the caller accepts, as [`Http::listen`] serves its own. To be called where tasks can be
    /// spawned that stay on this thread: in a `LocalSet` or a `LocalRuntime`.
    pub fn serve_here(&self) -> LocalServer {
        LocalServer::start(&self.app, self.serves())
    }

    /// Connections to what listens from now on wait in the kernel, until [`Http::open`]: for what has to be done when it is
    /// known that the addresses can be had, and before anybody is answered.
    pub fn hold(&self) {
        self.app.held.send_replace(true);
    }

    /// Connections that wait are accepted, and those that come.
    pub fn open(&self) {
        self.app.held.send_replace(false);
    }

    /// What has been counted since the start.
    pub fn figures(&self) -> Figures {
        self.app.figures()
    }

    /// Handlers that panicked since the start. Each cost one request.
    pub fn panics(&self) -> u64 {
        self.app.panics.load(Ordering::Relaxed)
    }

    /// Requests that were refused since the start because there were too many.
    pub fn overloads(&self) -> u64 {
        self.app.overloads.load(Ordering::Relaxed)
    }
}

impl App {
    /// Waits until connections may be accepted.
    pub(crate) async fn opened(&self) {
        // The sender is ours, so there is no error.
        let _ = self.held.subscribe().wait_for(|held| !held).await;
    }

    /// Where the request ids of another thread begin: no two come to the same ones.
    pub(crate) fn next_request_ids(&self) -> u64 {
        let number = self.workers.fetch_add(1, Ordering::Relaxed) + 1;
        mix(self.settings.request_ids ^ mix(number))
    }

    /// One of its listeners is to stop. Says since when the first of them is.
    pub(crate) fn begin_drain(&self) -> Instant {
        let since = *self.draining.get_or_init(Instant::now);
        if let Some(sandbox) = &self.sandbox {
            sandbox.hurry();
        }
        since
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.get().is_some()
    }

    pub(crate) fn figures(&self) -> Figures {
        let [panics, shed, forwarded_ignored] =
            [&self.panics, &self.overloads, &self.ignored_values].map(|count| count.load(Ordering::Relaxed));
        Figures { panics, shed, forwarded_ignored, ..self.tallies.figures() }
    }

    /// Counts what is ignored of what a trusted proxy tells, and says once that links cannot follow one: only of requests of
    /// the contract, since a balancer's own probes are forwarded from nowhere.
    pub(crate) fn note_outer(&self, proxy: IpAddr, outer: &Outer, under_base: bool) {
        if outer.ignored > 0 {
            self.ignored_values.fetch_add(u64::from(outer.ignored), Ordering::Relaxed);
        }
        if !outer.lacks_scheme || !under_base || self.said_scheme_lacks.swap(true, Ordering::Relaxed) {
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
            observer.trouble(&format!(
                "connections that were still owed an answer at the end of the drain: {connections}"
            ));
        }
    }
}
