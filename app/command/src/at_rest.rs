//! Administration of a store that no server serves: the command opens it itself, for as long as it takes.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use petstore_http::IdleTime;
use petstore_ports::Clock;
use petstore_ports::api::Administration;
use petstore_service::{Policy, Service};

use crate::admin::{Answer, Bulk, Desk, Request};
use crate::environment::{SystemClock, SystemEntropy};
use crate::settings::expected::duration;
use crate::settings::{DEFAULT_OVERLAP, Db, Reading, ServeArgs, load};
use crate::store::{Backend, NAME_ITS_SOCKET};
use crate::{Failure, single_threaded};

/// Answers a request as the server of this store would, one that is started with this settings file.
pub(crate) fn ask(db: &Db, config: Option<&Path>, request: Request) -> Result<Answer, Failure> {
    let backend = Arc::new(Backend::open(db, NAME_ITS_SOCKET, IdleTime::default())?);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let ports = backend.ports(Arc::clone(&clock), Arc::new(SystemEntropy));
    let administration: Arc<dyn Administration> = Arc::new(Service::new(ports, policy(config)));
    let bulk = Arc::new(Bulk::new(Arc::clone(&backend)));
    let overlap = duration(DEFAULT_OVERLAP).expect("a time");
    let desk = Desk { administration, clock, bulk, overlap, reloader: None };
    let answer = single_threaded()?.block_on(desk.answer(request));
    backend.close();
    Ok(answer)
}

/// The figures of a server that is started here: those of the environment and of the settings file, the defaults where
/// they cannot be read.
fn policy(config: Option<&Path>) -> Policy {
    let flag = config.map(|file| ["--config".into(), file.into()]);
    let arguments = ["petstore".into(), "check-config".into()].into_iter().chain(flag.into_iter().flatten());
    let arguments: Vec<OsString> = arguments.collect();
    let loaded = load(&arguments, Reading::Again).ok();
    loaded.and_then(|loaded| loaded.cli.serve_args().map(ServeArgs::policy)).unwrap_or(Policy::DEFAULT)
}
