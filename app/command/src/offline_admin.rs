//! Administration without a server: the command opens the store itself.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use petstore_domain::{AccountWebhooks, AttemptError, AttemptOutcome, TargetPolicy};
use petstore_http::{IdleTime, JsonEvents};
use petstore_ports::api::Administration;
use petstore_ports::{Clock, Courier, Reply, WebhookRequest};
use petstore_service::{Policy, Service, WebhookService};

use crate::admin::{AdminAnswer, AdminHandler, AdminRequest, BulkTransfers};
use crate::environment::{SystemClock, SystemEntropy};
use crate::failure::Failure;
use crate::progress::ProgressReport;
use crate::runtime::single_threaded;
use crate::settings::expected::duration;
use crate::settings::{DEFAULT_OVERLAP, Db, ServeArgs, of_a_server_here};
use crate::store::{Backend, NAME_ITS_SOCKET};
use crate::webhook_key;

/// Executes a request in the same way as a server with this store and this settings file.
pub(crate) fn ask(db: &Db, config: Option<&Path>, request: AdminRequest) -> Result<AdminAnswer, Failure> {
    let backend = Arc::new(Backend::open(
        db,
        NAME_ITS_SOCKET,
        IdleTime::default(),
        &(ProgressReport::of_command(false) as _),
    )?);
    let clock = backend.clock(Arc::new(SystemClock));
    let ports = backend.ports(Arc::clone(&clock), Arc::new(SystemEntropy));
    let settings = of_a_server_here(config);
    let service = Arc::new(Service::new(ports, settings.as_ref().map_or(Policy::DEFAULT, ServeArgs::policy)));
    let webhooks = webhooks(&service, &backend, &clock, db, settings.as_ref());
    let bulk = Arc::new(BulkTransfers::new(Arc::clone(&backend)));
    let overlap = duration(DEFAULT_OVERLAP).expect("a time");
    let handler = AdminHandler {
        administration: service,
        clock,
        webhooks,
        bulk,
        overlap,
        own_files: Vec::new(),
        reloader: None,
    };
    let answer = single_threaded()?.block_on(handler.answer(request));
    backend.close();
    Ok(answer)
}

/// Runs administration on a store that no server of this command administers, and that is created if it is missing.
pub(crate) fn run<T>(
    db: &Db,
    config: Option<&Path>,
    task: impl AsyncFnOnce(&dyn Administration) -> T,
) -> Result<T, Failure> {
    let backend =
        Backend::open(db, NAME_ITS_SOCKET, IdleTime::default(), &(ProgressReport::of_command(false) as _))?;
    let ports = backend.ports(backend.clock(Arc::new(SystemClock)), Arc::new(SystemEntropy));
    let service = Service::new(ports, policy(config));
    let done = single_threaded()?.block_on(task(&service));
    backend.close();
    Ok(done)
}

/// The webhooks of a store. The command sends nothing to them.
fn webhooks(
    service: &Arc<Service>,
    backend: &Backend,
    clock: &Arc<dyn Clock>,
    db: &Db,
    settings: Option<&ServeArgs>,
) -> Arc<WebhookService> {
    let signer = webhook_key::signer(settings.and_then(|args| args.webhook_key_file.as_deref()), db);
    // Without the key the list shows that it is missing, and a new secret reports the fault.
    let _ = signer.load();
    let ports = backend.dispatcher_ports(
        Arc::new(NoCourier),
        Arc::new(signer),
        Arc::new(JsonEvents),
        Arc::clone(clock),
    );
    let max = AccountWebhooks::DEFAULT_MAX;
    // The servers of a database have its key. A command need not have it.
    let has_no_key = matches!(db, Db::Postgres(_)) && ports.signer.master().is_none();
    let webhooks = WebhookService::new(Arc::clone(service), ports, TargetPolicy::default(), max);
    Arc::new(if has_no_key { webhooks.without_master_key() } else { webhooks })
}

/// A courier for a program that sends nothing.
struct NoCourier;

impl Courier for NoCourier {
    fn post(&self, _: WebhookRequest) -> Reply<AttemptOutcome> {
        let error = Some(AttemptError::AddressRefused);
        Reply::now(AttemptOutcome { duration: Duration::ZERO, error, answer: None })
    }
}

/// The policy that a server started here would have. It comes from the environment and the settings file. If they are
/// invalid, it is the default policy.
fn policy(config: Option<&Path>) -> Policy {
    of_a_server_here(config).map_or(Policy::DEFAULT, |args| args.policy())
}
