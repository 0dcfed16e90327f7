//! The facade: a petstore, its settings, and the listeners that serve it.

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;

use petstore_ports::api::Petstore;
use rustls::ServerConfig;

use crate::base::settings::{Cors, HttpSettings};
use crate::base::stats::TransportStats;
use crate::connection::tls::acceptor;
use crate::listen::local::LocalServer;
use crate::listen::server::{Endpoint, Server};
use crate::thread::shared::{App, Serves};

/// The petstore over HTTP: what is served, without a socket yet.
#[derive(Clone)]
pub struct Http {
    app: Arc<App>,
    /// Whether health and readiness are served on a listener of their own.
    ops_apart: bool,
}

impl Http {
    /// Serves this petstore. With `ops_apart`, health and readiness only on [`Http::listen_ops`].
    ///
    /// # Panics
    /// The base path is not made of visible ASCII characters alone: it is a part of headers.
    pub fn new(api: Arc<dyn Petstore>, settings: HttpSettings, ops_apart: bool) -> Self {
        assert!(settings.base_path.bytes().all(|b| b.is_ascii_graphic()), "a base path is visible ASCII");
        Self { app: Arc::new(App::new(api, settings)), ops_apart }
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
        self.app.hold(true);
    }

    /// Connections that wait are accepted, and those that come.
    pub fn open(&self) {
        self.app.hold(false);
    }

    /// What has been counted since the start.
    pub fn stats(&self) -> TransportStats {
        self.app.stats()
    }

    /// Handlers that panicked since the start. Each cost one request.
    pub fn panics(&self) -> u64 {
        self.app.panics()
    }

    /// Requests that were refused since the start because there were too many.
    pub fn overloads(&self) -> u64 {
        self.app.overloads()
    }
}
