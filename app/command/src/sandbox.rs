//! The sandbox of a server: its wiring, and the data that it may be used with.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

use petstore_http::Endpoint;
use petstore_ports::api::Sandbox;
use petstore_ports::{Clock, ImportError, Row, WorkProgress};
use petstore_sandbox::{SandboxClock, StoreSandbox, demo_rows};
use petstore_sqlite::companion;

use crate::environment::SystemEntropy;
use crate::failure::Failure;
use crate::files::sync_folder_of;
use crate::progress::CountedBulk;
use crate::settings::{Db, ServeArgs};
use crate::store::Backend;

/// The suffix of the marker file beside a data file that only sandboxes have served.
pub(crate) const MARK: &str = ".sandbox";

/// The clock of the server, and the sandbox's controls; none unless the settings enable the sandbox.
pub(crate) struct TestControls {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) sandbox: Option<Arc<dyn Sandbox>>,
}

impl TestControls {
    /// `real`: the clock that shows the true time.
    pub(crate) fn of(args: &ServeArgs, backend: &Backend, real: &Arc<dyn Clock>, shop: Vec<Row>) -> Self {
        if !args.sandbox {
            return Self { clock: Arc::clone(real), sandbox: None };
        }
        let clock = Arc::new(SandboxClock::new(Arc::clone(real)));
        let bed = StoreSandbox {
            store: backend.resettable(),
            clock: Arc::clone(&clock),
            entropy: Arc::new(SystemEntropy),
            shop: shop.into(),
        };
        Self { clock, sandbox: Some(Arc::new(bed)) }
    }
}

/// The content of the store after a reset: empty, or the demonstration.
pub(crate) fn beginning(demo: Option<u32>, progress: &Arc<dyn WorkProgress>) -> Result<Vec<Row>, Failure> {
    let Some(pets) = demo else { return Ok(vec![]) };
    let scratch = Backend::in_memory(0);
    // A pet and its stock are two rows.
    let (name, total) = ("making the shop of a reset", Some(2 * u64::from(pets)));
    let counted = CountedBulk::new(scratch.bulk(), Arc::clone(progress), name, total);
    demo_rows(&counted, pets).map_err(demo_failed)
}

/// The failure to make the demonstration.
#[expect(clippy::needless_pass_by_value, reason = "an argument of `map_err`")]
pub(crate) fn demo_failed(error: ImportError) -> Failure {
    Failure::because(format!("demo: {}", error.report()))
}

/// Claims a data file for the sandbox: a new one, or one that only sandboxes have served. A reset empties the file, so
/// any other file is refused, in particular the default one. A schema of a database is not claimed here, because it was
/// claimed or refused when it was opened.
pub(crate) fn claim(db: &Db, backend: &Backend, named: &dyn Fn(&str) -> String) -> Result<(), Failure> {
    let Some(mark) = mark(db).filter(|mark| !mark.exists()) else { return Ok(()) };
    let counts = backend.counts();
    if counts.accounts + counts.categories > 0 {
        return Err(Failure::usage(format!(
            "{} and {} exclude each other: the file holds data that was not created by a sandbox, and a reset would \
                delete it; name another --db, or memory",
            named("sandbox"),
            named("db")
        )));
    }
    File::create(&mark)
        .map(drop)
        .map_err(|error| Failure::because(format!("cannot create {}: {error}", mark.display())))
}

/// Returns whether only sandboxes have served this file or schema.
pub(crate) fn is_marked(db: &Db, backend: &Backend) -> bool {
    backend.is_sandbox_schema().unwrap_or_else(|| mark(db).is_some_and(|mark| mark.exists()))
}

/// Refuses inherited sockets that other machines may reach, as the settings refuse such addresses.
pub(crate) fn check_inherited(args: &ServeArgs, endpoints: [Option<&Endpoint>; 2]) -> Result<(), Failure> {
    for endpoint in endpoints.into_iter().flatten() {
        let Endpoint::Inherited(listener) = endpoint else { continue };
        let address = listener.local_addr();
        let is_here = address.is_ok_and(|address| address.ip().to_canonical().is_loopback());
        if !is_here && !args.sandbox_anywhere {
            return Err(Failure::usage(
                "other machines may reach the inherited socket, and every client can empty a sandbox; set \
                    sandbox-anywhere to permit that",
            ));
        }
    }
    Ok(())
}

/// Removes the marker, because from now on the file or schema may hold data that must not be emptied. Blocks.
pub(crate) fn disclaim(db: &Db, backend: &Backend) -> Result<(), Failure> {
    backend.disclaim_schema().map_err(|error| Failure::because(error.report()))?;
    let (Db::File(file), Some(mark)) = (db, mark(db)) else { return Ok(()) };
    let removed = match fs::remove_file(&mark) {
        // The marker must not come back after a power cut.
        Ok(()) => fs::canonicalize(file).and_then(|file| sync_folder_of(&file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    };
    removed.map_err(|error| Failure::because(format!("cannot remove {}: {error}", mark.display())))
}

/// The origin of the sandbox for the reference page: that of the contract's listener, or of the operations listener. If
/// the system chooses the port, the port is not known yet, so the origin has a placeholder.
pub(crate) fn origin(public: &Endpoint, ops: Option<&Endpoint>, is_tls: bool) -> String {
    let (endpoint, scheme) = match ops {
        Some(ops) => (ops, "http"),
        None => (public, if is_tls { "https" } else { "http" }),
    };
    let address = match endpoint {
        Endpoint::Address(address) => Some(*address),
        Endpoint::Inherited(listener) => listener.local_addr().ok(),
    };
    match address.filter(|address| address.port() != 0 && !address.ip().is_unspecified()) {
        Some(address) => format!("{scheme}://{address}"),
        None => format!("{scheme}://ADDRESS-OF-THE-SANDBOX"),
    }
}

fn mark(db: &Db) -> Option<PathBuf> {
    let Db::File(file) = db else { return None };
    Some(companion(file, MARK))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_origin_is_a_usable_address_or_a_placeholder() {
        let at = |address: &str| Endpoint::Address(address.parse().unwrap());
        let public = at("127.0.0.1:8080");
        assert_eq!(origin(&public, None, false), "http://127.0.0.1:8080");
        assert_eq!(origin(&public, None, true), "https://127.0.0.1:8080");
        assert_eq!(origin(&public, Some(&at("[::1]:9090")), true), "http://[::1]:9090", "never under TLS");
        for unknown in ["127.0.0.1:0", "0.0.0.0:9090", "[::]:9090"] {
            assert_eq!(origin(&public, Some(&at(unknown)), false), "http://ADDRESS-OF-THE-SANDBOX");
        }
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert_eq!(origin(&Endpoint::Inherited(listener), None, false), format!("http://{address}"));
    }
}
