//! The facade: a petstore, its settings, and the listeners that serve it.

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;

use petstore_ports::api::{Petstore, WebhookTesting, Webhooks};
use rustls::ServerConfig;

use crate::base::settings::{Cors, HttpSettings, QuotaForm};
use crate::base::stats::TransportStats;
use crate::connection::tls::acceptor;
use crate::listen::local::LocalServer;
use crate::listen::server::{Endpoint, Server};
use crate::sandbox::state::SandboxState;
use crate::thread::Hook;
use crate::thread::shared::{App, Serves};

/// The petstore over HTTP: its settings and state. The `listen` methods open sockets for it.
#[derive(Clone)]
pub struct Http {
    app: Arc<App>,
    /// The sandbox, which is the hook of `app`.
    sandbox: Option<Arc<SandboxState>>,
    /// `true` if health and readiness are served on a separate listener only.
    ops_apart: bool,
}

impl Http {
    /// Creates a server for this petstore. With `ops_apart`, health and readiness are served only on
    /// [`Http::listen_ops`].
    ///
    /// # Panics
    /// If the base path contains a character that is not visible ASCII, which a header cannot carry.
    pub fn new(api: Arc<dyn Petstore>, settings: HttpSettings, ops_apart: bool) -> Self {
        assert!(
            settings.base_path.bytes().all(|b| b.is_ascii_graphic()),
            "a base path consists of visible ASCII characters"
        );
        let sandbox = SandboxState::of(&settings).map(Arc::new);
        let hook = sandbox.clone().map(|sandbox| sandbox as Arc<dyn Hook>);
        Self { app: Arc::new(App::new(api, settings, hook)), sandbox, ops_apart }
    }

    /// Serves without TLS, on this many threads.
    ///
    /// # Errors
    /// The address is in use, or a socket or a thread cannot be created.
    pub fn listen(&self, endpoint: impl Into<Endpoint>, threads: NonZeroUsize) -> io::Result<Server> {
        Server::start(endpoint.into(), threads, Arc::clone(&self.app), self.serves(), None)
    }

    /// Serves over TLS, on this many threads: HTTP/2 to clients that choose it in the handshake, otherwise HTTP/1.1.
    /// This sets the ALPN protocols of the configuration; all other parts of the configuration stay as the caller has
    /// set them.
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

    /// Serves health, readiness and metrics on a separate address, without TLS.
    ///
    /// # Errors
    /// The same as [`Http::listen`].
    pub fn listen_ops(&self, endpoint: impl Into<Endpoint>) -> io::Result<Server> {
        Server::start(endpoint.into(), NonZeroUsize::MIN, Arc::clone(&self.app), Serves::Ops, None)
    }

    /// Serves the operations on webhooks. Without this call their paths do not exist. Call it once, before the first request
    /// is answered: a further call changes nothing.
    ///
    /// The port is not an argument of [`Http::new`], because webhooks may not be sent to the addresses at which the server
    /// listens, and these are known only after [`Http::listen`].
    pub fn serve_webhooks(&self, webhooks: Arc<dyn Webhooks>) {
        // An error means that they are served already.
        let _: Result<(), _> = self.app.webhooks.set(webhooks);
    }

    /// Lets the sandbox check signatures at its sinks, and wait until no delivery is due. Without this call, sinks check no
    /// signature, and no delivery is awaited. Without a sandbox the call changes nothing. Call it once, before the first
    /// request is answered: a further call changes nothing.
    pub fn test_webhooks(&self, testing: Arc<dyn WebhookTesting>) {
        if let Some(sandbox) = &self.sandbox {
            sandbox.test_webhooks(testing);
        }
    }

    /// Replaces the origins whose pages may read answers, from the next request on.
    pub fn set_cors(&self, cors: Cors) {
        self.app.cors.set(cors);
    }

    /// Replaces the form of the quota headers, from the next response on.
    pub fn set_quota_headers(&self, form: QuotaForm) {
        self.app.quota_headers.set_form(form);
    }

    /// Serves connections that the caller accepts. They are served like the connections that [`Http::listen`] accepts.
    /// Must be called where local tasks can be spawned: in a `LocalSet` or a `LocalRuntime`.
    pub fn serve_here(&self) -> LocalServer {
        LocalServer::start(&self.app, self.serves())
    }

    /// Leaves new connections in the kernel's accept queue until [`Http::open`]. So the caller can bind the addresses
    /// first, then finish its start, and only then answer requests.
    pub fn hold(&self) {
        self.app.hold(true);
    }

    /// Accepts the connections that wait in the kernel, and new ones.
    pub fn open(&self) {
        self.app.hold(false);
    }

    /// The counts since the start.
    pub fn stats(&self) -> TransportStats {
        self.app.stats()
    }

    /// The number of handlers that panicked since the start. Each panic fails one request.
    pub fn panics(&self) -> u64 {
        self.app.panics()
    }

    /// The number of requests that were refused since the start because of overload.
    pub fn overloads(&self) -> u64 {
        self.app.overloads()
    }
}
