//! The deliveries of webhooks by a server.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use petstore_domain::{AccountWebhooks, TargetException, TargetPolicy};
use petstore_http::JsonEvents;
use petstore_ports::{Clock, Signer};
use petstore_service::{Dispatcher, DispatcherPorts, Policy, Service, WebhookService, WebhookTester};
use petstore_webhooks::{CourierLimits, HmacSigner, HttpCourier, SystemResolver};
use rustls::RootCertStore;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::environment::SystemEntropy;
use crate::failure::Failure;
use crate::log::Log;
use crate::sandbox::LateTesting;
use crate::settings::{Db, ServeArgs};
use crate::store::Backend;
use crate::{tls, version};

/// The addresses of this machine, to which a sandbox may send webhooks.
const LOOPBACK: [&str; 2] = ["127.0.0.0/8", "::1/128"];

/// The end of the name of the file with the master key, which is beside the data file.
const KEY_FILE: &str = ".webhook-key";

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

/// Starts the deliveries. They are not sent to the server's own listeners.
pub(super) fn start(
    args: &ServeArgs,
    backend: &Backend,
    clock: &Arc<dyn Clock>,
    service: &Arc<Service>,
    testing: &LateTesting,
    listeners: impl IntoIterator<Item = SocketAddr>,
    log: &Log,
) -> Result<Deliveries, Failure> {
    let signer = signer(&args.db, log);
    let exceptions = LOOPBACK.iter().filter(|_| args.sandbox);
    let exceptions = exceptions.filter_map(|network| TargetException::parse(network).ok());
    // The sinks of a sandbox are behind its own listeners.
    let listeners = listeners.into_iter().filter(|_| !args.sandbox);
    let policy = TargetPolicy::new(exceptions).without_listeners(listeners);
    // A machine without trusted certificates serves the shop anyway. Deliveries over https fail there with `tls_failed`.
    let roots = tls::client::system_roots().unwrap_or_else(|_| RootCertStore::empty());
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
    let dispatcher = Dispatcher::new(ports.clone(), &Policy::DEFAULT, !args.sandbox);
    if args.sandbox {
        let webhooks = WebhookService::new(Arc::clone(service), ports, AccountWebhooks::DEFAULT_MAX);
        testing.set(WebhookTester::new(Arc::new(webhooks), dispatcher.stats(), dispatcher.nudge()));
    }
    let (stop, stopped) = oneshot::channel();
    let running = tokio::spawn(async move { dispatcher.run(async { drop(stopped.await) }).await });
    Ok(Deliveries { stop, running })
}

/// The signer with the master key of this store.
fn signer(db: &Db, log: &Log) -> Arc<dyn Signer> {
    let entropy = Arc::new(SystemEntropy);
    let signer = match db {
        Db::Memory => HmacSigner::in_memory(entropy),
        Db::File(file) => HmacSigner::with_own_file(key_file(file).into(), entropy),
        Db::Postgres(_) => HmacSigner::without_key(entropy),
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
