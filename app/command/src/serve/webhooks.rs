//! The deliveries of webhooks by a server.

use std::path::Path;
use std::sync::Arc;

use petstore_domain::{TargetException, TargetPolicy};
use petstore_http::{JsonEvents, Server};
use petstore_ports::{Clock, Signer};
use petstore_service::{Dispatcher, DispatcherPorts, Policy, WebhookTester};
use petstore_webhooks::{CourierLimits, HmacSigner, HttpCourier, SystemResolver};
use rustls::RootCertStore;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::environment::SystemEntropy;
use crate::failure::Failure;
use crate::log::Log;
use crate::settings::{Db, Loaded, ServeArgs};
use crate::store::Backend;
use crate::{tls, version};

/// The addresses of this machine, to which a sandbox may send webhooks.
const LOOPBACK: [&str; 2] = ["127.0.0.0/8", "::1/128"];

/// The end of the name of the file with the master key, which is beside the data file.
const KEY_FILE: &str = ".webhook-key";

/// A dispatcher that runs.
pub(super) struct Deliveries {
    /// The testing aids for its webhooks.
    pub(super) tester: WebhookTester,
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

/// Reads the certificates by which receivers are trusted.
pub(super) fn roots(args: &ServeArgs, loaded: &Loaded) -> Result<RootCertStore, Failure> {
    match &args.webhook_ca {
        Some(file) => tls::client::roots_in(file)
            .map_err(|why| Failure::usage(format!("{}: {why}", loaded.named("webhook-ca")))),
        // A machine without trusted certificates serves the shop anyway. Deliveries over https fail there with
        // `tls_failed`.
        None => Ok(tls::client::system_roots().unwrap_or_else(|_| RootCertStore::empty())),
    }
}

/// Starts the deliveries, unless the settings end them. They are not sent to the server's own listeners, except to the sinks of a sandbox.
pub(super) fn start(
    args: &ServeArgs,
    loaded: &Loaded,
    roots: RootCertStore,
    backend: &Backend,
    clock: &Arc<dyn Clock>,
    servers: &[Server],
    log: &Log,
) -> Result<Option<Deliveries>, Failure> {
    if !args.webhooks {
        return Ok(None);
    }
    let signer = signer(args, log);
    let of_sandbox = LOOPBACK.iter().filter(|_| args.sandbox);
    let of_sandbox = of_sandbox.filter_map(|network| TargetException::parse(network).ok());
    if !args.webhook_allow.is_empty() {
        log.info(&format!(
            "webhooks may go to addresses that are not public: {}",
            loaded.named("webhook-allow")
        ));
    }
    let mut policy = TargetPolicy::new(args.webhook_allow.iter().cloned().chain(of_sandbox));
    if !args.sandbox {
        policy = policy.without_listeners(servers.iter().map(Server::local_addr));
    }
    let courier = HttpCourier::new(
        policy,
        tls::client::trusting(roots)?,
        Arc::new(SystemResolver::new()),
        Arc::clone(clock),
        CourierLimits::DEFAULT,
        &version::user_agent(),
    );
    let ports: DispatcherPorts =
        backend.dispatcher_ports(Arc::new(courier), signer, Arc::new(JsonEvents), Arc::clone(clock));
    // A sandbox has a clock that tests turn, so its retries are due exactly by the schedule.
    let dispatcher = Dispatcher::new(ports, &Policy::DEFAULT, !args.sandbox);
    let tester = dispatcher.tester();
    let (stop, stopped) = oneshot::channel();
    let running = tokio::spawn(async move { dispatcher.run(async { drop(stopped.await) }).await });
    Ok(Some(Deliveries { tester, stop, running }))
}

/// The signer with the master key of this store, or the one that the operator names.
fn signer(args: &ServeArgs, log: &Log) -> Arc<dyn Signer> {
    let entropy = Arc::new(SystemEntropy);
    let signer = match (&args.webhook_key_file, &args.db) {
        (Some(file), _) => HmacSigner::with_shared_file(file.clone(), entropy),
        (None, Db::Memory) => HmacSigner::in_memory(entropy),
        (None, Db::File(file)) => HmacSigner::with_own_file(key_file(file).into(), entropy),
        (None, Db::Postgres(_)) => HmacSigner::without_key(entropy),
    };
    if let Err(error) = signer.load() {
        log.warn(&format!("webhooks are not delivered: {error}"));
    }
    Arc::new(signer)
}

fn key_file(file: &Path) -> std::ffi::OsString {
    let mut name = file.as_os_str().to_owned();
    name.push(KEY_FILE);
    name
}
