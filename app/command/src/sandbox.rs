//! The sandbox of a server: its wiring, and the data that it may be used with.

use std::fs::{self, File};
use std::io::{BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use petstore_http::Endpoint;
use petstore_ports::api::Sandbox;
use petstore_ports::{Clock, ImportError, Row, ShopTextFault, WorkProgress};
use petstore_sandbox::{SandboxClock, ShopBaseline, StoreSandbox, demo_rows, fill_with_demo, fill_with_shop};
use petstore_shop_lines::ShopLines;
use petstore_sqlite::companion;

use crate::environment::SystemEntropy;
use crate::failure::Failure;
use crate::files::sync_folder_of;
use crate::progress::{CountedBulk, CountedReader, unwatched};
use crate::settings::{Db, ServeArgs};
use crate::store::{Backend, open_readable};

/// The suffix of the marker file beside a data file that only sandboxes have served.
pub(crate) const MARK: &str = ".sandbox";

/// The form in which a tester gives a shop.
const LINES: ShopLines = ShopLines::new(Backend::scratch);

/// The clock of the server, and the sandbox's controls; none unless the settings enable the sandbox.
pub(crate) struct TestControls {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) sandbox: Option<Arc<dyn Sandbox>>,
}

impl TestControls {
    /// `real`: the clock that shows the true time.
    pub(crate) fn of(args: &ServeArgs, backend: &Backend, real: &Arc<dyn Clock>, shop: Arc<[Row]>) -> Self {
        if !args.sandbox {
            return Self { clock: Arc::clone(real), sandbox: None };
        }
        Self::of_sandbox(backend, real, shop)
    }

    /// The controls of a sandbox.
    pub(crate) fn of_sandbox(backend: &Backend, real: &Arc<dyn Clock>, shop: Arc<[Row]>) -> Self {
        let clock = Arc::new(SandboxClock::new(Arc::clone(real)));
        let bed = StoreSandbox {
            store: backend.resettable(),
            clock: Arc::clone(&clock),
            entropy: Arc::new(SystemEntropy),
            baseline: ShopBaseline::new(shop, backend.shared_bulk(), Arc::new(LINES)),
        };
        Self { clock, sandbox: Some(Arc::new(bed)) }
    }
}

/// The shop that the settings name. An empty store begins with it, and a reset of a sandbox returns to it.
#[derive(Clone)]
pub(crate) enum FirstShop {
    /// The demonstration with this many pets.
    Demo(u32),
    /// The shop of the file of the setting `sandbox-shop`.
    Given(Arc<[Row]>),
}

impl FirstShop {
    /// Reads the file of the setting `sandbox-shop`, which is checked as an import is. `setting` names it in messages.
    pub(crate) fn read(file: &Path, setting: &str, progress: &dyn WorkProgress) -> Result<Self, Failure> {
        let fault = |why: String| Failure::usage(format!("{setting}: {why}"));
        let opened = open_readable(file).map_err(|error| fault(format!("cannot be read: {error}")))?;
        let size = opened.metadata().ok().filter(fs::Metadata::is_file).map(|found| found.len());
        let lines = BufReader::new(CountedReader::new(opened, progress, "reading the shop of a reset", size));
        let read = LINES.read_from(lines, &unwatched());
        progress.end();
        read.map(|rows| Self::Given(rows.into())).map_err(|ShopTextFault(why)| fault(why))
    }

    /// The setting that names the shop.
    pub(crate) const fn setting(&self) -> &'static str {
        match self {
            Self::Demo(_) => "demo",
            Self::Given(_) => "sandbox-shop",
        }
    }

    /// The content of the store after a reset.
    pub(crate) fn rows(&self, progress: &Arc<dyn WorkProgress>) -> Result<Arc<[Row]>, Failure> {
        match self {
            Self::Demo(pets) => {
                let scratch = Backend::scratch();
                let name = "making the shop of a reset";
                let counted = CountedBulk::new(&*scratch, Arc::clone(progress), name, self.row_count());
                demo_rows(&counted, *pets).map(Arc::from).map_err(|error| self.failed(&error))
            }
            Self::Given(rows) => Ok(Arc::clone(rows)),
        }
    }

    /// Fills an empty store, and shows how far it is. Returns whether the store was empty.
    pub(crate) fn fill(&self, backend: &Backend) -> Result<bool, ImportError> {
        let progress = backend.progress();
        let name = match self {
            Self::Demo(_) => "making the demonstration",
            Self::Given(_) => "filling the store",
        };
        let counted = CountedBulk::new(backend.bulk(), Arc::clone(progress), name, self.row_count());
        let filled = match self {
            Self::Demo(pets) => fill_with_demo(&counted, *pets),
            Self::Given(rows) => fill_with_shop(&counted, rows),
        };
        progress.end();
        filled
    }

    /// The number of rows, of which each pet has two: itself and its stock.
    fn row_count(&self) -> Option<u64> {
        match self {
            Self::Demo(pets) => Some(2 * u64::from(*pets)),
            Self::Given(rows) => {
                let pets = rows.iter().filter(|row| matches!(row, Row::Pet(_))).count();
                u64::try_from(rows.len() + pets).ok()
            }
        }
    }

    /// The failure to make the shop.
    pub(crate) fn failed(&self, error: &ImportError) -> Failure {
        Failure::because(format!("{}: {}", self.setting(), error.report()))
    }
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
