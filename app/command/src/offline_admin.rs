//! Administration without a server: the command opens the store itself.

use std::path::Path;
use std::sync::Arc;

use petstore_http::IdleTime;
use petstore_ports::Clock;
use petstore_ports::api::Administration;
use petstore_service::{Policy, Service};

use crate::admin::{AdminAnswer, AdminHandler, AdminRequest, BulkTransfers};
use crate::environment::{SystemClock, SystemEntropy};
use crate::failure::Failure;
use crate::runtime::single_threaded;
use crate::settings::expected::duration;
use crate::settings::{DEFAULT_OVERLAP, Db, of_a_server_here};
use crate::store::{Backend, NAME_ITS_SOCKET};

/// Executes a request in the same way as a server with this store and this settings file.
pub(crate) fn ask(db: &Db, config: Option<&Path>, request: AdminRequest) -> Result<AdminAnswer, Failure> {
    let backend = Arc::new(Backend::open(db, NAME_ITS_SOCKET, IdleTime::default())?);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let ports = backend.ports(Arc::clone(&clock), Arc::new(SystemEntropy));
    let administration: Arc<dyn Administration> = Arc::new(Service::new(ports, policy(config)));
    let bulk = Arc::new(BulkTransfers::new(Arc::clone(&backend)));
    let overlap = duration(DEFAULT_OVERLAP).expect("a time");
    let handler = AdminHandler { administration, clock, bulk, overlap, reloader: None };
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
    let backend = Backend::open(db, NAME_ITS_SOCKET, IdleTime::default())?;
    let ports = backend.ports(Arc::new(SystemClock), Arc::new(SystemEntropy));
    let service = Service::new(ports, policy(config));
    let done = single_threaded()?.block_on(task(&service));
    backend.close();
    Ok(done)
}

/// The policy that a server started here would have. It comes from the environment and the settings file. If they are
/// invalid, it is the default policy.
fn policy(config: Option<&Path>) -> Policy {
    of_a_server_here(config).map_or(Policy::DEFAULT, |args| args.policy())
}
