//! The webhooks of a server and their deliveries.

mod watch;

use std::net::SocketAddr;
use std::sync::Arc;

use petstore_domain::{AccountWebhooks, TargetException, TargetPolicy};
use petstore_http::{Http, JsonEvents, Server};
use petstore_ports::Clock;
use petstore_service::{DispatchStats, Dispatcher, DispatcherPorts, Service, WebhookService, WebhookTester};
use petstore_webhooks::{CourierLimits, HmacSigner, HttpCourier, SystemResolver};
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::failure::Failure;
use crate::log::Log;
use crate::settings::{Loaded, ServeArgs};
use crate::store::Backend;
use crate::webhook_key;
use crate::{tls, version};

/// The addresses of this machine, to which a sandbox may send webhooks.
const LOOPBACK: [&str; 2] = ["127.0.0.0/8", "::1/128"];

/// A dispatcher that runs.
pub(super) struct Deliveries {
    stop: oneshot::Sender<()>,
    running: JoinHandle<()>,
}

impl Deliveries {
    /// Tells the dispatcher to begin no further attempt. The returned task ends once the attempts in flight have ended and
    /// their results are saved, or after some seconds.
    pub(super) fn stop(self) -> JoinHandle<()> {
        drop(self.stop);
        self.running
    }
}

/// The parts of a server to which its webhooks are connected.
pub(super) struct Parts<'a> {
    pub(super) args: &'a ServeArgs,
    pub(super) loaded: &'a Loaded,
    pub(super) backend: &'a Backend,
    pub(super) service: &'a Arc<Service>,
    pub(super) clock: &'a Arc<dyn Clock>,
    pub(super) log: &'a Arc<Log>,
}

/// The webhooks of a server, before their deliveries are started.
pub(super) struct Webhooks {
    /// The use cases, for the transport and for the admin socket.
    pub(super) service: Arc<WebhookService>,
    /// The master key.
    pub(super) signer: Arc<HmacSigner>,
    dispatcher: Dispatcher,
    stats: Arc<DispatchStats>,
    log: Arc<Log>,
    is_on: bool,
}

/// Reads the certificates of `webhook-ca`. Without that setting, receivers are trusted by the certificates that the system
/// trusts, which the first delivery over https reads.
pub(super) fn roots(args: &ServeArgs, loaded: &Loaded) -> Result<Option<RootCertStore>, Failure> {
    let Some(file) = &args.webhook_ca else { return Ok(None) };
    let roots = tls::client::roots_in(file);
    roots.map(Some).map_err(|why| Failure::usage(format!("{}: {why}", loaded.named("webhook-ca"))))
}

/// The TLS of deliveries. A machine without trusted certificates serves the shop anyway. Deliveries over https fail there
/// with `tls_failed`, and the log has the reason.
fn tls_of_deliveries(roots: Option<RootCertStore>, log: &Arc<Log>) -> Result<ClientConfig, Failure> {
    let log = Arc::clone(log);
    match roots {
        Some(roots) => tls::client::trusting(roots),
        None => tls::lazy_roots::verifying_later(move |why| {
            log.error(&format!(
                "webhooks over https are not delivered: {why}, or in --webhook-ca, and restart"
            ));
        }),
    }
}

/// Connects the webhooks of a server, and serves their operations unless the settings remove them. The
/// deliveries are counted in `stats`. Webhooks are not sent to the server's own listeners, except to the sinks of a sandbox.
pub(super) fn connect(
    parts: &Parts<'_>,
    stats: &Arc<DispatchStats>,
    roots: Option<RootCertStore>,
    http: &Http,
    servers: &[Server],
) -> Result<Webhooks, Failure> {
    let Parts { args, backend, clock, log, .. } = parts;
    let signer = Arc::new(read_key(args, log));
    let policy = policy(parts, servers.iter().map(Server::local_addr));
    let courier = HttpCourier::new(
        policy.clone(),
        tls_of_deliveries(roots, log)?,
        Arc::new(SystemResolver::new()),
        Arc::clone(clock),
        CourierLimits::DEFAULT,
        &version::user_agent(),
    );
    let of_dispatcher: DispatcherPorts = backend.dispatcher_ports(
        Arc::new(courier),
        Arc::clone(&signer) as _,
        Arc::new(JsonEvents),
        Arc::clone(clock),
    );
    let (service, max) = (Arc::clone(parts.service), AccountWebhooks::DEFAULT_MAX);
    let service = WebhookService::new(service, of_dispatcher.clone(), policy, max);
    let service = Arc::new(match args.webhook_starts() {
        Some(max) => service.with_starts_max(max),
        None => service,
    });
    if args.webhooks {
        http.serve_webhooks(Arc::clone(&service) as _);
    }
    // A sandbox has a clock that tests turn, so its retries are due exactly by the schedule.
    let dispatcher = Dispatcher::new(of_dispatcher, &args.policy(), !args.sandbox, Arc::clone(stats));
    let (stats, log) = (Arc::clone(stats), Arc::clone(log));
    Ok(Webhooks { service, signer, dispatcher, stats, log, is_on: args.webhooks })
}

impl Webhooks {
    /// The testing aids for the deliveries; none if the settings end them.
    pub(super) fn tester(&self) -> Option<WebhookTester> {
        self.is_on.then(|| self.dispatcher.tester())
    }

    /// Starts the deliveries, unless the settings end them.
    pub(super) fn start(self) -> Option<Deliveries> {
        let Self { signer, dispatcher, stats, log, is_on, .. } = self;
        if !is_on {
            return None;
        }
        tokio::spawn(watch::watch(stats, signer, log));
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(async move { dispatcher.run(async { drop(stopped.await) }).await });
        Some(Deliveries { stop, running })
    }
}

/// The targets that webhooks may go to.
fn policy(parts: &Parts<'_>, listeners: impl IntoIterator<Item = SocketAddr>) -> TargetPolicy {
    let Parts { args, loaded, log, .. } = parts;
    if !args.webhook_allow.is_empty() && args.webhooks {
        let named = loaded.named("webhook-allow");
        log.info(&format!("webhooks may go to addresses that are not public: {named}"));
    }
    let of_sandbox = LOOPBACK.iter().filter(|_| args.sandbox);
    let of_sandbox = of_sandbox.filter_map(|network| TargetException::parse(network).ok());
    let policy = TargetPolicy::new(args.webhook_allow.iter().cloned().chain(of_sandbox));
    if args.sandbox { policy } else { policy.without_listeners(listeners) }
}

/// Reads the master key. Without it the server serves the shop anyway.
fn read_key(args: &ServeArgs, log: &Log) -> HmacSigner {
    let file = args.webhook_key_file.as_deref();
    let signer = webhook_key::signer(file, &args.db);
    match (signer.load(), file) {
        (Err(error), _) if args.webhooks => log.error(&format!("webhooks are not delivered: {error}")),
        (Ok(None), Some(file)) if args.webhooks => log.error(&format!(
            "webhooks are not delivered: {} does not exist: put the master key there and reload, or make one with `openssl \
             rand -base64 32`",
            file.display()
        )),
        _ => {}
    }
    signer
}
